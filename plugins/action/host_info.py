"""Action of module groundup.cloud.host_info: like host_baseline's, set a failed host aside."""

from __future__ import annotations

from .host_baseline import ActionModule

__all__ = ["ActionModule"]
