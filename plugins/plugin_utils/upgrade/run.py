"""The steps of a running upgrade, on the controller: each is written down before and after, and judged between."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ...module_utils._base.wait import wait_until
from ..errors import GroundupError
from ..kube import run_lease
from ..kube.client import Api, ApiError
from ..kube.types import Object, resource_path
from ..plan.types import Plan
from . import back, journal, nodes
from .decide import UNDRAINED, Judged, judge, table, unwell
from .job import UpgradeJob, surveyed
from .steps import Kind, UpgradeStep, Version, skew
from .survey import FoundCluster

PATIENCE = 300.0  # seconds for the cluster to be whole again after a step
ADD_ONS = (
    resource_path("apps/v1", "daemonsets", namespace="kube-system", name="kube-proxy"),
    resource_path("apps/v1", "deployments", namespace="kube-system", name="coredns"),
)


class CardError(GroundupError):
    """A step that failed: where, what is live, and what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UpgradeRun:
    """Steps of one kind, on one host or a batch."""

    job: UpgradeJob
    kind: Kind = "control"
    hosts: Sequence[str] = ()
    evict: bool = False  # whether pods leave the hosts
    timeout: float = 600.0  # seconds for the pods of one node

    @property
    def steps(self) -> list[UpgradeStep]:
        return [UpgradeStep(kind=self.kind, host=host) for host in self.hosts or [""]]

    @property
    def _what(self) -> str:
        return ", ".join(map(str, self.steps))

    def begin(self) -> dict[str, Any]:
        """Write down that the upgrade has begun. Raises GroundupError, OSError."""
        plan = self._plan()
        found = surveyed(self.job.api(plan)).versions
        target = plan.kubernetes.version
        versions = sorted({*map(str, found.all), target})
        opened = journal.begin(plan.site, source=str(found.lowest), target=target, versions=versions)
        self.job.say(f"[upgrade] from {opened.source} to {opened.target}, begun {opened.begun}")
        return {"changed": True}

    def back(self) -> dict[str, Any]:
        """Write down that the upgrade was given up, unless a part has its version. Raises GroundupError, OSError."""
        plan = self.job.plan()
        if opened := journal.given_up(plan.site, plan.kubernetes.version):
            api = self.job.api(plan)
            back.require_former(plan, api, surveyed(api), opened, seen=self.job.seen)
            journal.end(plan.site)
            self.job.say(f"[upgrade] closed: every part has {opened.source}, as before {opened.begun}")
        return {"changed": opened is not None}

    def enter(self) -> dict[str, Any]:
        """Require a cluster that bears the steps, and write down that they begin. Raises GroundupError, OSError."""
        return self._carded(self._enter)

    def leave(self) -> dict[str, Any]:
        """Require what the steps were to do, and write down that they have ended. Raises GroundupError, OSError."""
        return self._carded(self._leave)

    def fail(self, said: str) -> dict[str, Any]:
        """Say which step failed where, what is live, and what to do. Raises GroundupError."""
        raise self._card(said)

    def end(self) -> dict[str, Any]:
        """Write down that the upgrade has ended. Raises GroundupError, OSError."""
        site = self._plan().site
        # A kubelet that has restarted says later that its static pods are Ready.
        done = self.job.whole(patience=PATIENCE)
        opened = journal.under_way(site) is not None
        journal.end(site)
        return done | {"changed": opened}

    def _plan(self) -> Plan:
        """Return the plan of the site file as it is now. Raises GroundupError when the upgrade goes elsewhere."""
        plan = self.job.plan()
        journal.going_to(plan.site, plan.kubernetes.version)
        return plan

    def _enter(self) -> None:
        plan = self._plan()
        api, version = self.job.api(plan), plan.kubernetes.version

        def missing() -> list[str]:
            try:
                found = surveyed(api)
            except ApiError as error:  # one that has just started answers before it knows who may ask
                return [str(error)]
            behind = [name for name, one in sorted(found.versions.servers.items()) if str(one) != version]
            late = [f"API servers without {version}: {', '.join(behind)}"] if behind and self.kind != "control" else []
            return [*skew(found.versions), *unwell(found, plan.hosts, apart=self.hosts), *late]

        if wrong := wait_until(missing, timeout=PATIENCE, pause=2.0):
            raise self._card(f"it does not begin: {'; '.join(wrong)}")
        journal.enter(plan.site, self.steps)
        self.job.say(f"[upgrade] begins: {self._what}")
        if self.kind == "add-ons":
            journal.move(plan.site, live=version)
        if self.kind == "kubelet":
            for host in self.hosts:  # all of them first: pods of one do not go to the next
                nodes.close(api, host)
            for host in self.hosts if self.evict else ():
                for warning in run_lease.of_site(plan.site):  # renewed: each wait may be nearly as long as the lease
                    self.job.say(f"[upgrade] {warning}")
                spare = UNDRAINED in self.job.force
                nodes.drain(api, host, timeout=self.timeout, say=self.job.say, spare=spare)

    def _leave(self) -> None:
        plan = self._plan()
        api = self.job.api(plan)
        target = judge(plan, surveyed(api)).target
        if self.kind == "kubelet":
            nodes.let_in(api, self.hosts, target)
        if wrong := wait_until(lambda: [*self._left(api, target)], timeout=PATIENCE, pause=2.0):
            raise self._card(f"it is not done: {'; '.join(wrong)}")
        journal.leave(plan.site, self.steps)

    def _carded(self, work: Callable[[], None]) -> dict[str, Any]:
        """Do ``work``. Its errors become the step's. Raises CardError."""
        try:
            work()
        except CardError:
            raise
        except GroundupError as error:
            raise self._card(f"{error.what} ({error.where}). {error.remedy}") from error
        return {"changed": True}

    def _left(self, api: Api, target: Version) -> Iterator[str]:
        """Yield what the steps have not done."""
        if self.kind == "add-ons":
            if any(step.kind == self.kind for step in judge(self.job.plan(), surveyed(api)).steps):
                yield "kube-proxy or CoreDNS have the former version"
            yield from (f"{path.rpartition('/')[2]} is not rolled out" for path in ADD_ONS if _rolls(api.find(path)))
            return
        found = surveyed(api)
        yield from (str(one) for one in found.sick if one.host in self.hosts)
        for host in self.hosts:
            if host in found.versions.servers and (runs := found.versions.control(host)) != {target}:
                yield f"{host} runs {', '.join(map(str, sorted(runs)))}"

    def _card(self, said: str) -> CardError:
        """Return the error of a step that failed: host, step, what is live, remedy."""
        plan = self.job.plan()
        try:
            found = surveyed(self.job.api(plan))
            live = "\n    ".join(_live(found, judge(plan, found)))
        except GroundupError as error:  # also the API that does not answer
            live = f"not known: {error.what}"
        return CardError(
            f"upgrade to {plan.kubernetes.version} stopped at: {self._what}: {said}",
            where=f"host {', '.join(self.hosts) or 'of the API'}. Live now:\n    {live}",
            why="no other host is touched before this step is done; layers go by the live version meanwhile",
            remedy="mend what is named (on the host: crictl ps -a, journalctl -u kubelet), then run "
            "groundup.cloud.kubernetes_upgrade again: it goes on at this step",
        )


def _live(found: FoundCluster, judged: Judged) -> list[str]:
    """Return the rows of the table, without steps."""
    return table(found, judged)[: -len(judged.steps) or None]


def _rolls(found: Object | None) -> bool:
    """Return whether a workload still has pods of its former template, or pods that are not ready."""
    if found is None:
        return False
    status = found.get("status") or {}
    wanted = status.get("desiredNumberScheduled", (found.get("spec") or {}).get("replicas", 1))
    updated = status.get("updatedNumberScheduled", status.get("updatedReplicas", 0))
    ready = status.get("numberAvailable", status.get("availableReplicas", 0))
    seen = status.get("observedGeneration") == found["metadata"].get("generation")
    return not seen or updated < wanted or ready < wanted
