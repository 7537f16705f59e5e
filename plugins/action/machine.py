"""Action of module groundup.cloud.machine: one machine of an Ironic, from the controller."""

from __future__ import annotations

from typing import Any

from ansible.plugins.action import ActionBase
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.plugin_utils.actions import finish
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import load_site, make_plan

ARGUMENTS = {
    "name": {"type": "str", "required": True},
    "cloud": {"type": "str"},
    "site_file": {"type": "path"},
    "state": {
        "type": "str",
        "choices": ["present", "absent", "manageable", "available", "provisioned"],
        "default": "present",
    },
    "power": {"type": "str", "choices": ["on", "off"]},
    "driver": {"type": "str"},
    "driver_info": {"type": "dict", "no_log": True},
    "interfaces": {"type": "dict"},
    "properties": {"type": "dict"},
    "extra": {"type": "dict"},
    "resource_class": {"type": "str"},
    "ports": {"type": "list", "elements": "str", "default": []},
    "image": {
        "type": "dict",
        "options": {
            "url": {"type": "str", "required": True},
            "sha256": {"type": "str", "required": True},
            "format": {"type": "str", "choices": ["qcow2", "raw"], "default": "qcow2"},
        },
    },
    "configdrive": {"type": "dict", "no_log": True},
    "force": {"type": "bool", "default": False},
    "timeout": {"type": "int", "default": 3600},
}
FIELDS = ("driver", "driver_info", "properties", "extra", "resource_class")
REACHED_BY = [("cloud", "site_file")]


class ActionModule(ActionBase):  # type: ignore[misc]  # ansible ships no types
    """Brings one machine to the state that is wanted."""

    _requires_connection = False

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Return its facts, and what was changed."""
        result: dict[str, Any] = super().run(tmp, task_vars)
        _, given = self.validate_argument_spec(ARGUMENTS, mutually_exclusive=REACHED_BY, required_one_of=REACHED_BY)
        changes = Changes(check=bool(self._task.check_mode))
        return finish(result, lambda: _converge(given, changes), changes=changes)


def _converge(given: dict[str, Any], changes: Changes) -> dict[str, Any]:
    # Late: nobody else needs a cloud's client.
    from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud import baremetal

    fields = {name: given[name] for name in FIELDS if given[name] is not None}
    fields |= {f"{kind}_interface": one for kind, one in (given["interfaces"] or {}).items()}
    wanted = baremetal.Wanted(
        name=given["name"],
        state=given["state"],
        power=given["power"],
        fields=fields,
        ports=given["ports"],
        image=given["image"],
        configdrive=given["configdrive"],
        force=given["force"],
    )
    plan = make_plan(load_site(given["site_file"])) if given["site_file"] else None
    with baremetal.opened(cloud=given["cloud"], plan=plan) as proxy:
        machine = baremetal.converge(proxy, wanted, changes, timeout=given["timeout"])
    return {**changes.result(), "machine": machine}
