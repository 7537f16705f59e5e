"""Action of module groundup.cloud.hypervisor_drain: uses Nova's API from the controller."""

from __future__ import annotations

from typing import Any

from ..module_utils._base.text import few
from ..module_utils._base.wait import wait_until
from ..plugin_utils import verbs
from ..plugin_utils.actions import DocumentedAction
from ..plugin_utils.compose import site_plan
from ..plugin_utils.errors import GroundupError


class ActionModule(DocumentedAction):
    """Run one step of a drain or an undrain."""

    def work(self, given: dict[str, Any]) -> dict[str, Any]:
        """Return the step's result."""
        # Imported late: no other task needs a cloud client.
        from ..plugin_utils.cloud import connection

        verb = "undrain" if given["step"] in ("ended", "enable") else "drain"
        why = "one hypervisor is drained at a time, and at least one instance of it"
        verbs.named(verb, given["name"], why=why)
        if given["parallel"] < 1:
            raise GroundupError(
                "drain_parallel is not at least 1", where=f"the variable {verb}_parallel", why=why,
                remedy=f"ansible-playbook groundup.cloud.{verb} -e {verb}_machine=NAME",
            )  # fmt: skip
        plan = site_plan(given["site_file"])
        with connection.answered("Nova", remedy="playbook groundup.cloud.openstack, tag verify; then run this again"):
            return self._step(connection.of_site(plan).compute, given)

    def _step(self, compute: Any, given: dict[str, Any]) -> dict[str, Any]:
        from ..plugin_utils.cloud import compute_host, drain

        name, step = given["name"], given["step"]
        host = compute_host.known(compute, name)
        check = bool(self._task.check_mode)
        if step == "enable":
            done, note = compute_host.enable(compute, host, check=check)
            found = {"changed": bool(done), "changes": done, "evacuated": host.evacuated}
            return found | ({"warnings": [note]} if note else {})
        if step == "ended":
            return _ended(compute, host, given["timeout"])
        if step == "verify":
            return _verified(host)
        if step == "check" or check:
            compute_host.refuse("drain", name, drain.reasons(host), given["force"])
            lines = drain.foreseen(host)
            return {"changed": bool(lines), "changes": lines, "instances": []}
        return self._drain(compute, host, given)

    def _drain(self, compute: Any, host: Any, given: dict[str, Any]) -> dict[str, Any]:
        from ..plugin_utils.cloud import compute_host, drain
        from ..plugin_utils.progress import reminder

        compute_host.refuse("drain", host.name, drain.reasons(host), given["force"])
        cold = "cold" in given["force"]
        options = drain.Options(cold=cold, parallel=given["parallel"], timeout=given["timeout"])
        changes = compute_host.disable(compute, host, verbs.DRAIN)
        work = drain.Drain(compute, host.name, options, self._display.display)
        with reminder(self._display.display, f"[drain] {host.name}"):
            work.run()
        if work.stuck:
            raise drain.refused(host.name, work.stuck.values(), cold=cold)
        changes += [f"{one['way']} {one['name']} ({one['id']}) {one['result']}" for one in work.done]
        return {"changed": bool(changes), "changes": changes, "instances": work.done}


def _ended(compute: Any, host: Any, timeout: float) -> dict[str, Any]:
    from ..plugin_utils.cloud import compute_host

    if left := wait_until(lambda: compute_host.unended(compute, host.name), timeout=timeout, pause=3.0):
        raise GroundupError(
            f"{compute_host.COMPUTE} of {host.name} has not ended {len(left)} evacuated instance(s): {few(left)}",
            where=f"hypervisor {host.name}",
            why="they run elsewhere now: two would write to one disk. Nova refuses to hear the host until then",
            remedy=f"journalctl -u {compute_host.COMPUTE}, on {host.name}; then run this again, which restarts it",
        )
    return {"changed": False, "changes": [], "instances": []}


def _verified(host: Any) -> dict[str, Any]:
    from ..plugin_utils.cloud import drain

    if left := drain.remains(host):
        raise GroundupError(
            f"{host.name} is not drained: {'; '.join(left)}",
            where=f"hypervisor {host.name}",
            why="what is on it would not survive the machine",
            remedy=f"ansible-playbook groundup.cloud.drain -e drain_machine={host.name}",
        )
    return {"changed": False, "changes": [], "instances": []}
