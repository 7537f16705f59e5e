"""Evacuate a dead hypervisor: its instances come back on others, once nothing it still writes can harm them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any

from ...module_utils._base.consent import Reason
from ..cloud import compute_host, connection, drain, evacuate
from ..cloud.compute_host import ComputeHost, called
from ..progress import reminder
from .base import Verb
from .parts import REMEDY


class Evacuate(Verb[ComputeHost]):
    """Have its instances come back elsewhere. Between the steps, the playbook fences it from the site's Ceph."""

    name = "evacuate"
    one = "one hypervisor is evacuated at a time"
    loses = "instances of tenants, or what the cloud keeps of them, would be lost"
    codes = ("fenced", "migrating", "disks", "stay")

    def around(self) -> AbstractContextManager[None]:
        """Make Nova's errors ours."""
        return connection.answered("Nova", remedy=REMEDY)

    def survey(self) -> ComputeHost:
        """Return the hypervisor's service, migrations and instances, with ``stay`` those whose disks outlive it."""
        self.compute = connection.of_site(self.asked.plan).compute
        found = compute_host.refuse_unknown(compute_host.look(self.compute, self.asked.machine))
        leaving = tuple(filter(self._kept(found), found.servers)) if "stay" in self.asked.force else found.servers
        self.left = tuple(one for one in found.servers if one not in leaving)
        return replace(found, servers=leaving)

    @property
    def fences(self) -> bool:
        """Whether the site's own Ceph keeps it from its instances' disks."""
        plan = self.asked.plan
        return bool(plan.ceph and plan.ceph.backend == "native" and self.asked.machine in plan.hosts)

    def reasons(self, state: ComputeHost) -> Iterable[Reason]:
        """Return what would be lost or run twice."""
        yield from evacuate.reasons(state, kept=self._kept(state), fences=self.fences)
        if {"disks", "stay"} <= {*self.asked.force}:
            yield Reason(text="disks has instances start from their image, and stay has them wait: accept one")

    def predict(self, state: ComputeHost) -> list[str]:
        """Return what comes back, and what stays."""
        lines = evacuate.foreseen(state)
        return lines + [f"leave {called(one)} there, as its disk" for one in self.left if lines]

    def facts(self, state: ComputeHost) -> dict[str, Any]:  # noqa: ARG002  # as of every machine of the plan
        """Return whether the playbook fences it."""
        return {"fence": self.fences}

    def steps(self) -> Mapping[str, Callable[[ComputeHost], dict[str, Any]]]:
        """Return the steps. The fence comes between them: a killed run leaves none that undrain does not know."""
        return {"close": self.close, "evacuate": self.bring_back}

    def close(self, state: ComputeHost) -> dict[str, Any]:
        """Have Nova take it for dead."""
        return {"changes": evacuate.close(self.compute, state)}

    def bring_back(self, state: ComputeHost) -> dict[str, Any]:
        """Evacuate each instance. Raises GroundupError for those that did not come back, after all others."""
        changes = evacuate.close(self.compute, state)
        options = drain.DrainOptions(parallel=self.asked.parallel or 4, timeout=self.asked.timeout or 1800)
        moves = evacuate.Evacuation(self.compute, state.name, options, self.asked.say)
        moves.only = {str(one["id"]) for one in state.servers} if "stay" in self.asked.force else None
        with reminder(self.asked.say, f"[evacuate] {state.name}"):
            moves.run()
        if moves.stuck:
            raise evacuate.refused(state.name, moves.stuck.values())
        changes += [f"{one['way']} {one['name']} ({one['id']}) {one['result']}" for one in moves.done]
        return {"changes": changes, "instances": moves.done}

    def remains(self, state: ComputeHost) -> list[str]:
        """Return what has not come back."""
        return evacuate.remains(self.compute, state)

    def next_steps(self) -> str:
        """Return the way back, and the way out."""
        name, fenced = self.asked.machine, ", and Ceph refuses what it writes" if self.fences else ""
        return (
            f"Nova takes {name} for dead{fenced}. When it is back and reachable: ansible-playbook "
            f"groundup.cloud.undrain -e machine={name}. When it never comes back: ansible-playbook "
            f"groundup.cloud.retire -e machine={name}"
        )

    def _kept(self, state: ComputeHost) -> evacuate.Kept:
        """Return a function that tells whether a server's disk survives the loss of the host, by Ceph's own word.

        The site file says where disks of new instances are, and is no word on those that the host has.
        """
        ceph = self.asked.plan.ceph
        if not (ceph and ceph.backend == "native" and "vms" in ceph.pools and state.servers):
            return evacuate.of_volume
        if "disks" in self.asked.force:
            return lambda _server: False
        return evacuate.kept_by(self.asked.ceph("images", pool=ceph.pools["vms"].name)["images"])


VERB = Evacuate
