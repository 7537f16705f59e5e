"""One host's way through its maintenance, as far as the controller does it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from ...module_utils._base.wait import wait_until
from ..compose import site_plan
from ..errors import GroundupError
from ..kube import run_lease
from ..kube.access import kubeconfig_path
from ..kube.client import Api
from ..layers import aside
from ..plan.types import HostPlan, Plan
from . import journal, maintenance, members, order
from .decide import HostWork
from .journal import Maintenance

LAYER = "patch"
AGAIN = "run groundup.cloud.patch again, which goes on with it"


@dataclass(frozen=True, slots=True, kw_only=True)
class HostRun:
    plan: Plan
    host: HostPlan
    site_file: str
    timeout: float
    say: Callable[[str], None]

    @property
    def record(self) -> Maintenance | None:
        """What a run did to it, None when it is not in maintenance."""
        return journal.find(self.plan.site, self.host.name)

    @property
    def stores(self) -> bool:
        """Whether it has OSDs of the site's own Ceph."""
        return bool("storage" in self.host.roles and self.plan.ceph and self.plan.ceph.backend == "native")

    @property
    def empties(self) -> bool:
        """Whether instances or data leave it for its maintenance, beside pods."""
        return self.stores or bool(self.record and self.record.disabled)

    @property
    def control(self) -> bool:
        return "control" in self.host.roles

    def api(self) -> Api:
        """Return the cluster's API, and keep other runs of the Kubernetes layer away. Raises GroundupError."""
        for warning in run_lease.of_site(self.plan.site):
            self.say(f"[patch] {warning}")
        return Api(kubeconfig_path(self.plan.site))

    def begin(self, work: HostWork, boot: str) -> dict[str, Any]:
        """Record its maintenance, and empty it as a node; return what the playbook empties. Raises GroundupError."""
        name, site, found = self.host.name, self.plan.site, self.record
        if not work.emptied and (found is None or found.returned):
            return dict.fromkeys(("changed", "emptied", "control", "instances", "data", "fresh"), False)
        if found is None:
            found = self._record(work, boot)
        elif not found.upgraded or found.returned:
            anew: dict[str, Any] = {"boot": boot, "reboot": work.reboot, "upgraded": False, "returned": False}
            found = journal.change(site, name, **anew) or found
        changes = []
        if self.host.node_labels:
            pods = maintenance.empty(self.api(), name, timeout=self.timeout, say=self.say)
            changes = [f"evict {pod}" for pod in pods]
        return {
            "changed": True, "changes": changes, "emptied": True, "control": self.control,
            "instances": found.disabled, "data": self.stores, "fresh": not found.upgraded,
        }  # fmt: skip

    def serving(self, boot: str) -> None:
        """Wait until its Node serves in the present boot. Raises GroundupError when it did not reboot."""
        found = self.record
        if found and found.reboot and found.boot == boot:
            raise GroundupError(
                f"{self.host.name} did not reboot", where=f"host {self.host.name}: boot {boot}",
                why=f"what was upgraded is not in effect: {', '.join(found.reboot)}",
                remedy=f"systemctl list-jobs, on {self.host.name}; then {AGAIN}",
            )  # fmt: skip
        if found and self.host.node_labels:
            maintenance.await_node(self.api(), self.host.name, boot, timeout=self.timeout)

    def lacking(self) -> list[str]:
        """Return what databases and queues in pods lack to do without a control host. Raises GroundupError.

        Of one in maintenance members may be away already.
        """
        api = self.api()
        away = [] if self.record else [*members.unwell(self.plan, api)]
        return [*away, *members.lost(self.plan, api, self.host.name)]

    def give_back(self) -> dict[str, Any]:
        """Have it take pods again; of a control host, wait for members in them; forget its maintenance."""
        found, name, site = self.record, self.host.name, self.plan.site
        if found and self.control:
            if found.cordoned:
                maintenance.uncordon(self.api(), name)
            journal.change(site, name, returned=True)
            if why := wait_until(lambda: "; ".join(self._missing()), timeout=self.timeout, pause=maintenance.PAUSE):
                raise GroundupError(
                    f"after the maintenance of {name} not all members are in: {why}",
                    where=f"pods of Node {name}, after {self.timeout:g} s",
                    why="another control host may go away only when all are in",
                    remedy=f"groundup.cloud.openstack --tags verify names the cause; then {AGAIN}",
                )  # fmt: skip
        return self.end()

    def _missing(self) -> list[str]:
        try:
            return [*members.unwell(self.plan, self.api())]
        except GroundupError as error:
            return [error.what]

    def end(self) -> dict[str, Any]:
        """Have it take pods again, and forget its maintenance."""
        found = self.record
        if found is None:
            return {"changed": False}
        if found.cordoned:
            maintenance.uncordon(self.api(), self.host.name)
        journal.forget(self.plan.site, self.host.name)
        return {"changed": True, "changes": [f"{self.host.name} serves again"]}

    def give_up(self, failed: Mapping[str, Any], *, kept: str = "") -> dict[str, Any]:
        """Set it aside. One whose packages are as they were serves as before; another stays in maintenance.

        ``kept``: why that one does, too; "": nothing keeps it.
        """
        found, why = self.record, aside.failed(self.host.name, LAYER, failed)
        if found and not found.upgraded and not kept:
            self.end()
        elif found:
            reason = "; ".join(one for one in (why.reason, kept) if one)
            why = aside.Aside(
                host=why.host, layer=LAYER, reason=f"{reason}; it stays in maintenance",
                remedy=f"{why.remedy}; then {AGAIN}",
            )  # fmt: skip
        return aside.result(why, failed)

    def _record(self, work: HostWork, boot: str) -> Maintenance:
        """Write down what this run is about to do, before it does it."""
        name = self.host.name
        return journal.keep(
            self.plan.site, name,
            Maintenance(
                begun=datetime.now(UTC).isoformat(timespec="seconds"), boot=boot, reboot=work.reboot,
                cordoned=bool(self.host.node_labels) and not maintenance.is_cordoned(self.api(), name),
                disabled="hypervisor" in self.host.roles and self._takes_instances(),
            ),
        )  # fmt: skip

    def _takes_instances(self) -> bool:
        """Return whether its nova-compute is enabled: then it is drained, and enabled at the end."""
        from ..cloud import compute_host, connection  # late import: only hypervisors need a cloud's client

        with connection.answered("the cloud", remedy="playbook groundup.cloud.openstack, tag verify"):
            found = compute_host.look(connection.of_site(site_plan(self.site_file)).compute, self.host.name)
        if found.disabled is not None and found.servers:
            raise GroundupError(
                f"nova-compute of {self.host.name} is disabled, and {len(found.servers)} instances are on it",
                where=f"hypervisor {self.host.name}", why=f"somebody disabled it ({found.disabled or 'no reason'}); "
                "they would lose their host", remedy=f"ansible-playbook groundup.cloud.drain -e machine={found.name}",
            )  # fmt: skip
        return found.service is not None and found.disabled is None


def refuse_crowd(plan: Plan, batch: list[str], silent: list[str]) -> None:
    """Raise GroundupError when more hosts of a group would be missing with ``batch`` than may."""
    resting = [name for name in journal.hosts(plan.site) if name in plan.hosts]
    if found := order.crowded(plan, batch, {*resting, *silent}):
        told = [
            f"{', '.join(away)} of {group} (at most {plan.max_unavailable.get(group, 0)})"
            for group, away in found.items()
        ]
        raise GroundupError(
            f"{', '.join(batch)} would be too many: in maintenance or silent already are {'; '.join(told)}",
            where="machines.GROUP.max_unavailable of the site file",
            why="who uses the cloud would notice the next one",
            remedy="bring those hosts back (groundup.cloud.status names them), then run this again",
        )


def release(site: str) -> None:
    """Let other runs of the Kubernetes layer go on, if this one kept them away."""
    if (kubeconfig := kubeconfig_path(site)).is_file():
        run_lease.release(Api(kubeconfig, timeout=run_lease.PATIENCE, patience=0.0))
