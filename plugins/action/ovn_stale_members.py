"""Action of module groundup.cloud.ovn_stale_members: tells the host which clusters are the site's."""

from __future__ import annotations

from ..action.ovn_central import ActionModule

__all__ = ["ActionModule"]
