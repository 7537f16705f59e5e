"""Verbs that act by the roles of a machine: as a hypervisor by the cloud, as a storage host by the site's own Ceph.

A role counts when its service has the machine, whatever the site file makes of it by now; the file's own roles count
for a machine that neither has. A service that does not answer stops the verb, unless the file gives the machine other
roles than its own, and the other service has it. Of a machine that left the file nobody knows the roles: both must
answer.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from ...module_utils._base.consent import Reason
from ..cloud import connection
from ..errors import GroundupError
from ..layers.roles import ROLES
from .base import Verb

HYPERVISOR, STORAGE = "hypervisor", "storage"
REMEDY = "playbook groundup.cloud.openstack, tag verify; then run this again"
InCloud = TypeVar("InCloud")


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineState(Generic[InCloud]):
    """A machine as its services have it."""

    cloud: InCloud | None  # as a hypervisor; None: the verb does not take it for one
    ceph: Mapping[str, Any] | None  # as a storage host, by module ceph, step member; None: it is none to the verb
    silent: Mapping[str, GroundupError]  # services that do not answer, and are not needed


class RolesVerb(Verb[MachineState[InCloud]]):
    """A verb on a hypervisor, a storage host, or a machine that is both."""

    loses = "instances of tenants, copies of data, or what the services keep of the machine would be lost"

    @abstractmethod
    def in_cloud(self) -> InCloud:
        """Return what the cloud has of the machine. Raises GroundupError when it does not answer."""

    @abstractmethod
    def knows(self, found: InCloud) -> bool:
        """Say whether that is a hypervisor."""

    def stores(self, found: Mapping[str, Any]) -> bool:
        """Say whether what Ceph has of the machine is a storage host."""
        return bool(found.get("osds"))

    def around(self) -> AbstractContextManager[None]:
        """Make the cloud's errors ours."""
        return connection.answered("the cloud", remedy=REMEDY)

    def survey(self) -> MachineState[InCloud]:
        """Return the machine. Raises GroundupError when a service of one of its roles does not answer."""
        roles, silent = self.roles, dict[str, GroundupError]()
        nova = any(release.name == "nova" for release in self.asked.plan.openstack.releases)
        cloud, ceph, found = None, dict[str, Any](), list[str]()
        try:
            with self.around():
                cloud = self.in_cloud()
            found += [HYPERVISOR] if self.knows(cloud) else []
        except GroundupError as error:
            if HYPERVISOR in roles or (nova and not roles):
                raise
            if nova:
                silent["the cloud"] = error
        if self.own_ceph:
            try:
                ceph = self.asked.ceph("member")["member"]
                found += [STORAGE] if self.stores(ceph) else []
            except GroundupError as error:
                if STORAGE in roles or not roles:
                    raise
                silent["Ceph"] = error
        if not found and not {HYPERVISOR, STORAGE} & {*roles}:
            for fault in silent.values():
                raise fault
        parts = found or roles
        return MachineState(
            cloud=cloud if HYPERVISOR in parts else None,
            ceph=ceph if STORAGE in parts and self.own_ceph else None,
            silent=silent,
        )

    def refuse(self, state: MachineState[InCloud]) -> MachineState[InCloud]:
        """Return ``state``. Raises GroundupError for a machine of neither role, and for a reason against it.

        The old names acted on Ceph alone: by those no instance is moved.
        """
        if self.asked.formerly and state.cloud is not None:
            name = self.asked.machine
            raise GroundupError(
                f"{name} is a hypervisor, too, and {self.asked.formerly} acted on Ceph alone",
                where=f"the playbook {self.asked.formerly}",
                why=f"{self.name} acts on both: on its instances and on its data; nothing was changed",
                remedy=f"ansible-playbook groundup.cloud.{self.name} -e machine={name}",
            )
        return super().refuse(self.of_a_role(state))

    def of_a_role(self, state: MachineState[InCloud]) -> MachineState[InCloud]:
        """Return ``state``. Raises GroundupError for a machine of neither role."""
        if state.cloud is None and state.ceph is None:
            raise self.of_no_role()
        return state

    def reasons(self, state: MachineState[InCloud]) -> Iterable[Reason]:
        """Return the reasons of the hypervisor; Ceph's own step refuses a storage host."""
        return () if state.cloud is None else self.against(state.cloud)

    def against(self, _: InCloud) -> Iterable[Reason]:
        """Return what speaks against it at the hypervisor."""
        return ()

    def predict(self, state: MachineState[InCloud]) -> list[str]:
        """Return what would be done, part for part."""
        for service, error in state.silent.items():
            self.asked.say(f"[{self.name}] {service} was not asked: {error.what}")
        return [
            *(() if state.cloud is None else self.at_hypervisor(state.cloud)),
            *(() if state.ceph is None else self.at_storage()),
        ]

    @abstractmethod
    def at_hypervisor(self, found: InCloud) -> list[str]:
        """Return what would be done to the hypervisor."""

    def at_storage(self) -> list[str]:
        """Return what would be done to the storage host. Raises GroundupError for what Ceph has against it."""
        return self.on_ceph(check=True)

    def on_ceph(self, *, check: bool = False) -> list[str]:
        """Have Ceph do this verb; return the changes. Raises GroundupError."""
        given = {"timeout": self.asked.timeout} if self.asked.timeout else {}
        return list(self.asked.ceph(self.name, check=check, **given)["changes"])

    @property
    def own_ceph(self) -> bool:
        """Whether the site runs its Ceph itself."""
        return bool(self.asked.plan.ceph and self.asked.plan.ceph.backend == "native")

    def of_no_role(self) -> GroundupError:
        """Return the refusal of a machine that is neither hypervisor nor storage host: what to use instead."""
        name, roles = self.asked.machine, self.roles
        if STORAGE in roles:
            return GroundupError(
                f"{self.name}: this site runs no Ceph of its own",
                where="storage.backend of the site file",
                why="with external, cephadm and rook its hosts and disks are of whoever runs it, unaware of it",
                remedy='ceph orch host drain, ceph osd safe-to-destroy, or Rook\'s guide "Ceph OSD Management"',
            )
        said = f"its roles are {', '.join(roles)}" if roles else "it left the site file, or is called otherwise"
        remedy = "name a hypervisor or a storage host"
        if any(record.node for role, record in ROLES.items() if role in roles):
            remedy = f"a node of the cluster leaves by ansible-playbook groundup.cloud.remove -e machine={name}"
        elif "seed" in roles:
            remedy = "make another machine the seed first: take the role from this one and run the layers"
        ours = "and Ceph has no OSD of it" if self.own_ceph else "and this site runs no Ceph of its own"
        return GroundupError(
            f"{name} is neither hypervisor nor storage host: Nova has no compute service of it, {ours}; {said}",
            where="the variable machine",
            why=f"{self.name} acts on instances and on copies of data, and there are none; nothing was changed",
            remedy=remedy,
        )
