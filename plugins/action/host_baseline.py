"""Action of modules groundup.cloud.host_baseline and host_info: a host that fails is set aside."""

from __future__ import annotations

from ..plugin_utils.hosts import HostAction


class ActionModule(HostAction):
    """Runs the module on the host."""

    LAYER = "host"
