"""Action of module groundup.cloud.ovn_stale_members: pass the site's cluster ids to the host."""

from __future__ import annotations

from .ovn_central import ActionModule

__all__ = ["ActionModule"]
