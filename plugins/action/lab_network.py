"""Action of module groundup.cloud.lab_network: a bridge of this machine for each network of a lab."""

from __future__ import annotations

from typing import Any

from ansible.plugins.action import ActionBase
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.module_utils._container import network
from ansible_collections.groundup.cloud.plugins.module_utils._container.model import networks_of
from ansible_collections.groundup.cloud.plugins.module_utils._container.names import link_name
from ansible_collections.groundup.cloud.plugins.plugin_utils.actions import finish

ARGUMENTS = {
    "site": {"type": "str", "required": True},
    "networks": {"type": "dict", "default": {}},
    "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
}


class ActionModule(ActionBase):  # type: ignore[misc]  # ansible ships no types
    """Makes or removes the bridges."""

    _requires_connection = False

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Return what was made or removed, with a diff."""
        result: dict[str, Any] = super().run(tmp, task_vars)
        _, arguments = self.validate_argument_spec(ARGUMENTS)
        changes, site = Changes(check=bool(self._task.check_mode)), arguments["site"]
        if arguments["state"] == "absent":
            return finish(result, lambda: absent(changes, site), changes=changes)
        return finish(result, lambda: present(changes, site, arguments["networks"]), changes=changes)


def present(changes: Changes, site: str, plan: dict[str, Any]) -> dict[str, Any]:
    """Make or correct the bridges and return the module's result. Raises GroundupError."""
    networks = networks_of(plan)
    links = network.links()
    for name, item in networks.items():
        faults = "; ".join(network.bridge_faults(site, item, links))
        if faults and changes.add(f"bridge of {name}: {faults}", name=name, before=f"{faults}\n", after="as planned\n"):
            network.make_bridge(site, item, links)
    return {"bridges": {name: link_name(site, name) for name in networks}, **changes.result()}


def absent(changes: Changes, site: str) -> dict[str, Any]:
    """Remove the site's links and return the module's result. Raises GroundupError."""
    mine = network.links_of(site)
    if mine and changes.add("remove the site's links", name="links", before="".join(f"{name}\n" for name in mine)):
        network.remove_links(mine)
    return {"removed": mine, **changes.result()}
