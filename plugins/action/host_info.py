"""Action of module groundup.cloud.host_info: a host that fails is set aside, as in `host_baseline`."""

from __future__ import annotations

from ansible_collections.groundup.cloud.plugins.action.host_baseline import ActionModule

__all__ = ["ActionModule"]
