"""Action of module groundup.cloud.hypervisor_probe: boot instances on new hypervisors, from the controller."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from ..module_utils._base.changes import Changes
from ..plugin_utils.actions import DocumentedAction
from ..plugin_utils.compose import site_plan
from ..plugin_utils.errors import GroundupError
from ..plugin_utils.guest_image import guest_image
from ..plugin_utils.layers.aside import Aside

if TYPE_CHECKING:
    from ..plugin_utils.cloud.steps import SmokeError, Steps

LAYER = "hypervisor"


class ActionModule(DocumentedAction):
    """Probe new hypervisors, and enable those that work."""

    def work(self, given: dict[str, Any]) -> dict[str, Any]:
        """Return the enabled hosts and those to set aside."""
        if self._task.check_mode:
            return _foresee(given["site_file"], given["hosts"])
        return self.stepped(lambda steps: self._prove(given, steps), killed="not every new hypervisor was probed")

    def _prove(self, given: dict[str, Any], steps: Steps) -> dict[str, Any]:
        from ..plugin_utils.cloud import connection, probe, tenant

        with connection.answered("Nova", remedy="run the playbook groundup.cloud.openstack, tag verify"):
            plan = site_plan(given["site_file"])
            admin = connection.of_site(plan)
            found = probe.standing(admin, given["hosts"])
        kept = [f"{host} stays disabled, by somebody's word: {why}" for host, why in sorted(found.kept.items())]
        answer: dict[str, Any] = {"enabled": [], "kept": found.kept, "aside": [], "warnings": kept}
        if not found.new:
            return answer
        if given["verb"] == "verify":
            raise GroundupError(
                f"no instance has answered yet on {', '.join(found.new)}", where="Nova, compute services",
                why="they are disabled until one has: tenants get none of their room",
                remedy="run the playbook groundup.cloud.hypervisor, which probes them",
            )  # fmt: skip
        names = ("user", "memory_mb", "disk_gb", "timeout")
        image = guest_image(given["image"], progress=self._display.display)
        metadata = next((one.url for one in plan.edge.endpoints if one.type == "compute-metadata"), "")
        options = tenant.TenantOptions(image=image, metadata_url=metadata, **{name: given[name] for name in names})
        judged = probe.probe(admin, options, steps, found.new, limit=max(1, given["parallel"]))
        changes = Changes(check=False)
        for host, fault in judged.items():
            why = f"{probe.FAILED}{fault.what.splitlines()[0]}" if fault else ""
            changes.add(
                f"note why {host} stays disabled" if fault else f"enable {host}",
                name=f"compute service of {host}", before="disabled", after=f"disabled: {why}" if fault else "enabled",
            )  # fmt: skip
        away = [_aside(host, fault) for host, fault in judged.items() if fault]
        enabled = [host for host, fault in judged.items() if not fault]
        return (
            answer
            | changes.result()
            | {
                "enabled": enabled,
                "aside": [asdict(one) for one in away],
                "warnings": kept + [one.said for one in away],
            }
        )


def _foresee(site_file: str, hosts: list[str]) -> dict[str, Any]:
    """Return the hosts to probe: new ones, and those without a compute service yet."""
    from ..plugin_utils.cloud import connection, probe

    changes = Changes(check=True)
    try:
        with connection.answered("Nova", remedy="run the playbook groundup.cloud.openstack, tag verify"):
            found = probe.standing(connection.of_site(site_plan(site_file)), hosts)
    except connection.UnreachedError:
        found = probe.Standing(new=(), kept={}, services={})  # there is no cloud yet: all hosts will be new
    for host in hosts:
        if host in found.new or host not in found.services:
            changes.add(
                f"probe {host}, and enable it", name=f"compute service of {host}", before="disabled", after="enabled"
            )
    return changes.result()


def _aside(host: str, fault: SmokeError) -> Aside:
    reason = f"the probe failed in layer {fault.layer}: {fault.what.splitlines()[0]}"
    return Aside(host=host, layer=LAYER, reason=reason, remedy=f"{fault.remedy}; then run this again")
