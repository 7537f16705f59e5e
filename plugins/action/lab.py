"""Action of module groundup.cloud.lab: its steps run on the controller, which is the machine of the lab."""

from __future__ import annotations

import json
from typing import Any, ClassVar

from ..plugin_utils.actions import DocumentedAction
from ..plugin_utils.lab import check, hosts, networks

STEPS = {
    "check": lambda _, given: check.check(given["site_file"]),
    "networks": networks.create,
    "hosts": hosts.start,
    "remove_hosts": hosts.remove,
    "remove_networks": networks.remove,
}


class ActionModule(DocumentedAction):
    """Check this machine, or create or remove a lab's networks and hosts."""

    RULES: ClassVar = {
        "required_if": [
            ("step", "check", ("site_file",)),
            ("step", "hosts", ("site", "root", "image")),
            ("step", "remove_hosts", ("site", "root")),
            *(("step", step, ("site",)) for step in ("networks", "remove_networks")),
        ]
    }

    def work(self, given: dict[str, Any]) -> dict[str, Any]:
        """Return the step's result, with a diff."""
        # Ansible's strings are tagged objects: convert to plain ones.
        return STEPS[given["step"]](self.changes, json.loads(json.dumps(given)))
