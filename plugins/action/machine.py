"""Action of module groundup.cloud.machine: uses Ironic's API from the controller."""

from __future__ import annotations

from typing import Any

from ..module_utils._base.changes import Changes
from ..plugin_utils.actions import REACHED_BY, DocumentedAction
from ..plugin_utils.plan import load_site, make_plan

FIELDS = ("driver", "driver_info", "properties", "extra", "resource_class")


class ActionModule(DocumentedAction):
    """Bring one machine to the wanted state."""

    RULES = REACHED_BY

    def work(self, given: dict[str, Any]) -> dict[str, Any]:
        """Return its facts and the changes."""
        return _converge(given, self.changes)


def _converge(given: dict[str, Any], changes: Changes) -> dict[str, Any]:
    # Imported late: no other task needs a cloud client.
    from ..plugin_utils.cloud import baremetal

    fields = {name: given[name] for name in FIELDS if given[name] is not None}
    fields |= {f"{kind}_interface": one for kind, one in (given["interfaces"] or {}).items()}
    wanted = baremetal.NodeSpec(
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
