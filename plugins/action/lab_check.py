"""Action of module groundup.cloud.lab_check: check the controller."""

from __future__ import annotations

from typing import Any

from ansible.plugins.action import ActionBase
from ansible_collections.groundup.cloud.plugins.module_utils._container.names import Lab
from ansible_collections.groundup.cloud.plugins.plugin_utils.actions import finish
from ansible_collections.groundup.cloud.plugins.plugin_utils.lab_check import LabNeeds, MachineFacts, faults
from ansible_collections.groundup.cloud.plugins.plugin_utils.paths import state_dir
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import load_site, make_plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.layout.profiles import HARDWARE


class ActionModule(ActionBase):  # type: ignore[misc]  # ansible ships no types
    """Fails with everything the controller lacks."""

    _requires_connection = False

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Return the lab's hosts, or what is missing."""
        result: dict[str, Any] = super().run(tmp, task_vars)
        _, arguments = self.validate_argument_spec({"site_file": {"type": "path", "required": True}})
        return finish(result, lambda: _check(arguments["site_file"]))


def _check(site_file: str) -> dict[str, Any]:
    needs = _needs(site_file)
    found = faults(needs, MachineFacts.now(needs))
    result = {"changed": False, "hosts": sorted(needs.memory_gb)}
    return result | ({"failed": True, "msg": "\n".join(map(str, found))} if found else {})


def _needs(site_file: str) -> LabNeeds:
    site = load_site(site_file)
    plan = make_plan(site)
    hardware = {**HARDWARE, **site.hardware}
    hosts = [host for host in plan.hosts.values() if host.provisioner == "container"]
    return LabNeeds(
        lab=Lab(site=plan.site, root=state_dir(plan.site) / "lab"),
        networks={name: network.cidr for name, network in plan.networks.items()},
        memory_gb={host.name: hardware[host.hardware].memory_gb for host in hosts},
    )
