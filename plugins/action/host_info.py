"""Action of module groundup.cloud.host_info: as host_baseline's, a host that fails is set aside."""

from __future__ import annotations

from ..action.host_baseline import ActionModule

__all__ = ["ActionModule"]
