"""Retire a hypervisor that is empty: the cloud forgets it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from typing import Any

from ...module_utils._base.changes import Changes
from ...module_utils._base.consent import Reason
from ..cloud import compute_host, connection, retire
from ..cloud.retire import LeavingHypervisor
from ..errors import GroundupError
from ..hypervisor.configuration import compute_id
from .base import Verb
from .drain import REMEDY


class Retire(Verb[LeavingHypervisor]):
    """Take it out of aggregates, Nova, Placement and OVN. Between the steps, the playbook stops its services."""

    name = "retire"
    one = "one hypervisor is retired at a time"
    loses = "instances of tenants, or what the cloud keeps of them, would be lost"
    codes = ("allocations", "domains")  # domains: of module hypervisor, step leave

    def around(self) -> AbstractContextManager[None]:
        """Make the cloud's errors ours."""
        return connection.answered("the cloud", remedy=REMEDY)

    def survey(self) -> LeavingHypervisor:
        """Return what the cloud has of it. Raises GroundupError for a machine of the site that is no hypervisor."""
        plan, name = self.asked.plan, self.asked.machine
        self.cloud = connection.of_site(plan)
        found = retire.survey(self.cloud, name, compute_id=compute_id(plan.site, name))
        roles = plan.hosts[name].roles if name in plan.hosts else ()
        if not found.found and roles and "hypervisor" not in roles:
            raise GroundupError(
                f"{name} is no hypervisor: the cloud knows nothing of it, and its roles are {', '.join(roles)}",
                where="the variable machine",
                why="what runs on it would be stopped",
                remedy="name a hypervisor; a node of the cluster leaves by the playbook groundup.cloud.remove",
            )
        return found

    def reasons(self, state: LeavingHypervisor) -> Iterable[Reason]:
        """Return what is on it, and what Placement keeps of it."""
        return retire.reasons(state)

    def predict(self, state: LeavingHypervisor) -> list[str]:
        """Return what leaves the cloud."""
        if not state.found:
            self.asked.say(f"[retire] the cloud knows nothing of {self.asked.machine}")
        return retire.foreseen(state)

    def facts(self, state: LeavingHypervisor) -> dict[str, Any]:
        """Return its address, "" when another machine has it now, and whether it was evacuated."""
        others = {host.address for name, host in self.asked.plan.hosts.items() if name != self.asked.machine}
        address = "" if state.address in others else state.address
        return {"address": address, "evacuated": bool(state.host.evacuated)}

    def steps(self) -> Mapping[str, Callable[[LeavingHypervisor], dict[str, Any]]]:
        """Return the steps; its services are stopped between them."""
        return {"close": self.close, "remove": self.remove}

    def close(self, state: LeavingHypervisor) -> dict[str, Any]:
        """Have no instance come any more."""
        done = compute_host.disable(self.cloud.compute, state.host, compute_host.RETIRE)
        self.refuse(self.survey())  # an instance that was migrating before has arrived now
        return {"changes": done}

    def remove(self, _: LeavingHypervisor) -> dict[str, Any]:
        """Take it out of the cloud once it is down; ``seen`` tells whether its services were stopped."""
        name, timeout, changes = self.asked.machine, self.asked.timeout or 180, Changes(check=False)
        if not self.asked.seen.get("stopped") and not retire.settle(self.cloud.compute, name, timeout=timeout):
            raise GroundupError(
                f"{name} cannot be reached, and its {compute_host.COMPUTE} reports to Nova",
                where=f"hypervisor {name}",
                why="it would come back by itself as soon as it is out",
                remedy="make it reachable, or switch it off, then run this again",
            )
        retire.remove(self.cloud, self.refuse(self.survey()), changes, timeout=timeout)  # again, after the wait
        return {"changes": changes.done}

    def remains(self, state: LeavingHypervisor) -> list[str]:
        """Return what the cloud has of it."""
        return [f"the cloud has its {one}" for one in retire.remains(state)]


VERB = Retire
