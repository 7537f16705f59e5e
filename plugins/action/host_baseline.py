"""Action of modules groundup.cloud.host_baseline and host_info: set a failed host aside."""

from __future__ import annotations

from ..plugin_utils.hosts import HostAction


class ActionModule(HostAction):
    """Run the module on the host."""

    LAYER = "host"
