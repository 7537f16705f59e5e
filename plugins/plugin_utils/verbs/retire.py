"""Retire a machine that is empty: the cloud forgets the hypervisor, Ceph the storage host."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ...module_utils._base.changes import Changes
from ...module_utils._base.consent import Reason
from ..cloud import compute_host, connection, retire
from ..cloud.retire import LeavingHypervisor
from ..errors import GroundupError
from ..hypervisor.configuration import compute_id
from .parts import MachineState, RolesVerb


class Retire(RolesVerb[LeavingHypervisor]):
    """Take it out of aggregates, Nova, Placement and OVN. The playbook stops its services, and takes it out of Ceph."""

    name = "retire"
    one = "one machine is retired at a time"
    codes = ("allocations", "domains", "lost")  # domains: of module hypervisor, step leave; lost: of ceph, retire
    cloud: Any = None  # once it answered

    def in_cloud(self) -> LeavingHypervisor:
        plan, name = self.asked.plan, self.asked.machine
        cloud = connection.of_site(plan)
        found = retire.survey(cloud, name, compute_id=compute_id(plan.site, name))
        self.cloud = cloud
        return found

    def knows(self, found: LeavingHypervisor) -> bool:
        """Say whether the cloud has any record of it."""
        return found.found

    def stores(self, found: Mapping[str, Any]) -> bool:
        """Say whether Ceph has any record of it."""
        return bool(found.get("osds") or found.get("monitor") or found.get("place"))

    def refuse(self, state: MachineState[LeavingHypervisor]) -> MachineState[LeavingHypervisor]:
        """Return ``state``. In a cloud without Ceph, a machine that nobody knows has left: a killed run goes on."""
        if self.cloud and not (self.roles or self.own_ceph or state.cloud or state.ceph):
            return state
        return super().refuse(state)

    def against(self, found: LeavingHypervisor) -> Iterable[Reason]:
        """Return what is on it, and what Placement keeps of it."""
        return retire.reasons(found)

    def at_hypervisor(self, found: LeavingHypervisor) -> list[str]:
        """Return what leaves the cloud."""
        return retire.foreseen(found)

    def at_storage(self) -> list[str]:
        """Return nothing: Ceph says it itself, asked on the machine, which the playbook does next."""
        return []

    def predict(self, state: MachineState[LeavingHypervisor]) -> list[str]:
        """Return what leaves the cloud."""
        if not (state.cloud.found if state.cloud else state.ceph):
            self.asked.say(f"[retire] the cloud knows nothing of {self.asked.machine}")
        return super().predict(state)

    def facts(self, state: MachineState[LeavingHypervisor]) -> dict[str, Any]:
        """Return what it is, its address ("" when another machine has it now), and whether it was evacuated."""
        others = {host.address for name, host in self.asked.plan.hosts.items() if name != self.asked.machine}
        cloud = state.cloud
        return {
            "hypervisor": cloud is not None,
            "storage": state.ceph is not None and (cloud is None or cloud.found or self.stores(state.ceph)),
            "address": cloud.address if cloud and cloud.address not in others else "",
            "evacuated": bool(cloud and cloud.host.evacuated),
        }

    def steps(self) -> Mapping[str, Callable[[MachineState[LeavingHypervisor]], dict[str, Any]]]:
        """Return the steps; its services are stopped between them."""
        return {"close": self.close, "remove": self.remove}

    def close(self, state: MachineState[LeavingHypervisor]) -> dict[str, Any]:
        """Have no instance come any more."""
        if state.cloud is None:
            return {"changes": []}
        done = compute_host.disable(self.cloud.compute, state.cloud.host, compute_host.RETIRE)
        self.refuse(self.survey())  # an instance that was migrating before has arrived now
        return {"changes": done}

    def remove(self, state: MachineState[LeavingHypervisor]) -> dict[str, Any]:
        """Take it out of the cloud once it is down; ``seen`` tells whether its services were stopped."""
        name, timeout, changes = self.asked.machine, self.asked.timeout or 180, Changes(check=False)
        if state.cloud is None:
            if fault := self.asked.seen.get("hypervisor") and state.silent.get("the cloud"):
                raise fault  # it was one when the verb began
            return {"changes": []}
        if not self.asked.seen.get("stopped") and not retire.settle(self.cloud.compute, name, timeout=timeout):
            raise GroundupError(
                f"{name} cannot be reached, and its {compute_host.COMPUTE} reports to Nova",
                where=f"hypervisor {name}",
                why="it would come back by itself as soon as it is out",
                remedy="make it reachable, or switch it off, then run this again",
            )
        late = self.refuse(self.survey())  # again, after the wait
        if late.cloud is not None:
            retire.remove(self.cloud, late.cloud, changes, timeout=timeout)
        return {"changes": changes.done}

    def remains(self, state: MachineState[LeavingHypervisor]) -> list[str]:
        """Return what the cloud and Ceph have of it. Raises GroundupError for a machine of the site of neither role."""
        if self.roles:
            self.of_a_role(state)
        ceph = state.ceph or {}
        return [
            *(f"the cloud has its {one}" for one in (retire.remains(state.cloud) if state.cloud else ())),
            *(f"Ceph has its osd.{one['number']}" for one in ceph.get("osds", ())),
            *(["Ceph has its monitor"] if ceph.get("monitor") else []),
            *(["Ceph has its place in the CRUSH map"] if ceph.get("place") else []),
        ]


VERB = Retire
