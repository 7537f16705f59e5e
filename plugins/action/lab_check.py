"""Action of module groundup.cloud.lab_check: check the controller."""

from __future__ import annotations

from typing import Any

from ..module_utils._container.names import Lab
from ..plugin_utils.actions import DocumentedAction
from ..plugin_utils.lab_check import LabNeeds, MachineFacts, faults
from ..plugin_utils.paths import state_dir
from ..plugin_utils.plan import load_site, make_plan
from ..plugin_utils.plan.layout.profiles import HARDWARE


class ActionModule(DocumentedAction):
    """Check the controller, and fail with everything it lacks."""

    def work(self, given: dict[str, Any]) -> dict[str, Any]:
        """Return the lab's hosts, or what is missing."""
        needs = _needs(given["site_file"])
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
