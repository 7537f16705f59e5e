"""Action of module groundup.cloud.hypervisor_evacuate: uses Nova's API from the controller."""

from __future__ import annotations

from typing import Any

from ..plugin_utils.actions import DocumentedAction
from ..plugin_utils.compose import site_plan
from ..plugin_utils.errors import GroundupError
from ..plugin_utils.plan.types import Plan
from ..plugin_utils.verbs.base import named


class ActionModule(DocumentedAction):
    """Run one step of an evacuation."""

    def work(self, given: dict[str, Any]) -> dict[str, Any]:
        """Return the step's result."""
        # Imported late: no other task needs a cloud client.
        from ..plugin_utils.cloud import connection

        why = "one hypervisor is evacuated at a time, and at least one instance of it"
        named("evacuate", given["name"], why=why)
        if given["parallel"] < 1:
            raise GroundupError(
                "evacuate_parallel is not at least 1", where="the variable evacuate_parallel", why=why,
                remedy="ansible-playbook groundup.cloud.evacuate -e evacuate_machine=NAME",
            )  # fmt: skip
        plan = site_plan(given["site_file"])
        with connection.answered("Nova", remedy="playbook groundup.cloud.openstack, tag verify; then run this again"):
            return self._step(connection.of_site(plan).compute, plan, given)

    def _step(self, compute: Any, plan: Plan, given: dict[str, Any]) -> dict[str, Any]:
        from ..plugin_utils.cloud import compute_host, evacuate

        name, step = given["name"], given["step"]
        host = compute_host.known(compute, name)
        if step == "verify":
            return _verified(name, evacuate.remains(compute, host))
        fences = bool(plan.ceph and plan.ceph.backend == "native" and name in plan.hosts)
        against = evacuate.reasons(host, kept=_kept(plan, name), fences=fences)
        compute_host.refuse("evacuate", name, against, given["force"])
        if step == "check" or self.changes.check:
            lines = evacuate.foreseen(host)
            return {"changed": bool(lines), "changes": lines, "instances": [], "fence": fences}
        if step == "close":
            done = evacuate.close(compute, host)
            return {"changed": bool(done), "changes": done, "instances": [], "fence": fences}
        return {**self._evacuate(compute, host, given), "fence": fences}

    def _evacuate(self, compute: Any, host: Any, given: dict[str, Any]) -> dict[str, Any]:
        from ..plugin_utils.cloud import drain, evacuate
        from ..plugin_utils.progress import reminder

        changes = evacuate.close(compute, host)
        options = drain.Options(parallel=given["parallel"], timeout=given["timeout"])
        work = evacuate.Evacuation(compute, host.name, options, self._display.display)
        with reminder(self._display.display, f"[evacuate] {host.name}"):
            work.run()
        if work.stuck:
            raise evacuate.refused(host.name, work.stuck.values())
        changes += [f"{one['way']} {one['name']} ({one['id']}) {one['result']}" for one in work.done]
        return {"changed": bool(changes), "changes": changes, "instances": work.done}


def _kept(plan: Plan, name: str) -> Any:
    """Return a function that tells whether a server's disk survives the loss of host ``name``."""
    from ..plugin_utils.cloud import evacuate

    host = plan.hosts.get(name)
    in_ceph = host is not None and plan.hypervisor.compute.get(host.hardware, {}).get("disks") == "ceph"
    return (lambda _server: True) if in_ceph else evacuate.of_volume


def _verified(name: str, left: list[str]) -> dict[str, Any]:
    if left:
        raise GroundupError(
            f"{name} is not evacuated: {'; '.join(left)}",
            where=f"hypervisor {name}",
            why="they are down as long as it is",
            remedy=f"ansible-playbook groundup.cloud.evacuate -e evacuate_machine={name}",
        )
    return {"changed": False, "changes": [], "instances": [], "fence": False}
