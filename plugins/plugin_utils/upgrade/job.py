"""The steps of module upgrade that ask and decide, on the controller. Those of a running upgrade are in run.py."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from ...module_utils._base.consent import refuse, refuse_unknown
from ...module_utils._base.wait import wait_until
from ..errors import GroundupError
from ..kube.access import kubeconfig_path
from ..kube.client import Api, ApiError
from ..plan import load_site, make_plan
from ..plan.output.serial import site_vars
from ..plan.types import Plan
from ..progress import Progress
from . import back, journal
from .decide import CODES, Judged, batches, judge, leader_last, reasons, table, unwell
from .journal import Upgrade
from .nodes import is_ours
from .preview import preview
from .survey import FoundCluster, draining, survey

Until = Literal["checkpoint", "end"]


@dataclass(frozen=True, slots=True, kw_only=True)
class UpgradeJob:
    """An upgrade as it was asked for."""

    site_file: str
    say: Progress
    force: Sequence[str] = ()
    seen: Mapping[str, Mapping[str, Any]]  # what hosts said, by name
    until: Until = "end"
    resting: Sequence[str] = ()  # hosts that a run of patch left in maintenance

    def check(self) -> dict[str, Any]:
        """Return what would be done. Raises GroundupError for what stands against it."""
        refuse_unknown("kubernetes_upgrade", self.force, CODES, variable="kubernetes_upgrade_force")
        plan = self.plan()
        given_up = journal.given_up(plan.site, plan.kubernetes.version)
        opened = given_up or journal.going_to(plan.site, plan.kubernetes.version)
        if not given_up:
            journal.refuse_open(plan.site, journal.KUBERNETES.verb, journal.OPENSTACK)
        api = self.api(plan)
        try:
            found = surveyed(api)
            if given_up:
                back.require_former(plan, api, found, given_up, seen=self.seen)
        except ApiError as error:
            if opened is None:
                raise
            raise _silent(error, opened) from error
        if given_up:
            return self._given_up(plan, found, given_up)
        judged = leader_last(judge(plan, found, opened.left if opened else ()), self.seen)
        if judged.drains:
            found = draining(api, found, judged.hosts("kubelet"))
        lines = table(found, judged)
        if opened:
            at = ", ".join(map(str, opened.open_steps)) or "between two steps"
            lines.append(f"begun {opened.begun}, from {opened.source}; a former run ended at: {at}")
        for line in lines:
            self.say(f"[upgrade] {line}")
        if judged.steps:
            beside = [] if opened else journal.beside_patch(self.resting)
            refuse(
                "kubernetes_upgrade", plan.site, [*beside, *reasons(plan, found, judged, self.seen)], self.force,
                where="the cluster, and kubernetes.version of the site file",
                why="a cluster that is half upgraded and cannot go on is worse than an old one; nothing was changed",
                first="put that right first",
            )  # fmt: skip
        return self._answer(plan, found, judged, opened) | {"changed": False, "table": lines}

    def _given_up(self, plan: Plan, found: FoundCluster, opened: Upgrade) -> dict[str, Any]:
        """Return what the playbook goes by when nothing is left but to close the journal."""
        self.say(f"[upgrade] {(told := f'give up the upgrade to {opened.target}: no part has it')}")
        nothing = Judged(target=found.versions.lowest, source=found.versions.lowest, steps=(), drains=False)
        answer = self._answer(plan, found, nothing, None)
        return answer | {"back": True, "changes": [told], "changed": False, "table": [told]}

    def _answer(self, plan: Plan, found: FoundCluster, judged: Judged, opened: Upgrade | None) -> dict[str, Any]:
        """Return what the playbook goes by."""
        control = judged.hosts("control")
        whole = self.until == "end" or not control
        last = "" if not control or control[-1] in judged.half_done else control[-1]  # half done: it does not wait
        # Also one of a node that came back since: hosts refuse what is not named to them.
        versions = sorted({*(opened.versions if opened else ()), *map(str, found.versions.all)})
        beside = journal.beside(versions, plan.kubernetes.version)
        target = replace(plan, kubernetes=replace(plan.kubernetes, upgrading=beside))
        return {
            "changes": [*map(str, judged.steps)], "source": str(judged.source), "open": opened is not None,
            "back": False,
            "control": control if whole else [one for one in control if one != last], "last": last,
            "add_ons": whole and "add-ons" in {one.kind for one in judged.steps},
            "kubelets": batches(plan, judged.hosts("kubelet")) if whole else [], "whole": whole,
            "staged": sorted({step.host for step in judged.steps if step.host}),
            "drains": judged.drains, "target": site_vars(target), "diff": {"prepared": self._preview(plan, judged)},
        }  # fmt: skip

    def verify(self) -> dict[str, Any]:
        """Require one version everywhere, and no upgrade that is open. Raises GroundupError."""
        if opened := journal.under_way(self.plan().site):
            raise GroundupError(
                f"an upgrade of Kubernetes from {opened.source} to {opened.target} is open, since {opened.begun}",
                where=journal.KUBERNETES.file, why="an upgrade that has begun must end",
                remedy="ansible-playbook groundup.cloud.kubernetes_upgrade ends it; --tags check shows what is left",
            )  # fmt: skip
        return self.whole()

    def whole(self, *, patience: float = 0.0) -> dict[str, Any]:
        """Require one version everywhere, and no node that an upgrade has cordoned, within ``patience`` seconds.

        Raises GroundupError.
        """
        plan = self.plan()
        api, nodes = self.api(plan), 0

        def missing() -> list[str]:
            nonlocal nodes
            found = surveyed(api)
            nodes = len(found.versions.kubelets)
            cordoned = (f"{name} takes no pods" for name, node in sorted(found.nodes.items()) if is_ours(node))
            return [*map(str, judge(plan, found).steps), *unwell(found, found.nodes), *cordoned]

        if wrong := wait_until(missing, timeout=patience, pause=2.0):
            raise GroundupError(
                f"Kubernetes is not {plan.kubernetes.version} everywhere; left: {'; '.join(wrong)}",
                where="the cluster, and kubernetes.version of the site file",
                why="layers go by the version of the site file", remedy="--tags check shows what runs where",
            )  # fmt: skip
        return {"changed": False, "msg": f"Kubernetes {plan.kubernetes.version} on {nodes} nodes"}

    def plan(self, version: str | None = None) -> Plan:
        """Return the plan of the site file, by its own or another version of Kubernetes. Raises SiteError."""
        site = load_site(self.site_file)
        if version:
            cluster = site.kubernetes.model_copy(update={"version": version})
            site = site.model_copy(update={"kubernetes": cluster})
        return make_plan(site)

    def api(self, plan: Plan) -> Api:
        """Return the cluster's API. Raises GroundupError without a cluster."""
        path = kubeconfig_path(plan.site)
        if not path.is_file():
            raise GroundupError(
                f"no cluster of site {plan.site} is known here", where=str(path), why="an upgrade needs one",
                remedy="run the playbook groundup.cloud.kubernetes",
            )  # fmt: skip
        return Api(path)

    def _preview(self, plan: Plan, judged: Judged) -> str:
        return preview(self.plan(str(judged.source)), plan) if judged.hosts("control") else ""


def _silent(error: ApiError, opened: Upgrade) -> GroundupError:
    """Return the error of a cluster that does not answer in the middle of an upgrade."""
    at = ", ".join(map(str, opened.open_steps)) or "between two steps"
    hosts = ", ".join(step.host for step in opened.open_steps if step.host) or "the control hosts"
    return GroundupError(
        f"the cluster does not answer: {error.what}; a former run ended at: {at}", where=error.where,
        why="what runs decides what may follow",
        remedy="ansible-playbook groundup.cloud.kubernetes_upgrade without --tags check starts a kubelet that a killed "
        f"run left stopped. Else, on {hosts}: systemctl status kubelet, crictl ps -a, journalctl -u kubelet",
    )  # fmt: skip


def surveyed(api: Api) -> FoundCluster:
    """Return what there is. Raises GroundupError when no API server is known; ApiError."""
    found = survey(api)
    if not found.versions.servers:
        raise GroundupError(
            "no API server of the cluster names its version", where="namespace kube-system",
            why="what runs decides what may follow",
            remedy="kubectl -n kube-system get pods -l component=kube-apiserver",
        )  # fmt: skip
    return found
