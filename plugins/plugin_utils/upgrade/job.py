"""The steps of module upgrade, on the controller."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...module_utils._base.consent import refuse
from ..errors import GroundupError
from ..kube.access import kubeconfig_path
from ..kube.client import Api
from ..plan import load_site, make_plan
from ..plan.types import Plan
from ..progress import Progress
from .decide import CODES, Judged, batches, judge, reasons, table
from .preview import preview
from .survey import FoundCluster, draining, survey


@dataclass(frozen=True, slots=True, kw_only=True)
class UpgradeJob:
    """An upgrade as it was asked for."""

    site_file: str
    say: Progress
    force: Sequence[str] = ()
    seen: Mapping[str, Mapping[str, Any]]  # what hosts said, by name

    def check(self) -> dict[str, Any]:
        """Return what would be done. Raises GroundupError for what stands against it."""
        if unknown := sorted({*self.force} - {*CODES}):
            raise GroundupError(
                f"kubernetes_upgrade has no risk {', '.join(unknown)} to accept",
                where="the variable kubernetes_upgrade_force", why="what is accepted must be what is lost",
                remedy=f"one of {', '.join(CODES)}",
            )  # fmt: skip
        plan = self.plan()
        api = self._api(plan)
        found = _surveyed(api)
        judged = judge(plan, found)
        if judged.drains:
            found = draining(api, found, judged.hosts("kubelet"))
        lines = table(found, judged)
        for line in lines:
            self.say(f"[upgrade] {line}")
        if judged.steps:
            refuse(
                "kubernetes_upgrade", plan.site, reasons(plan, found, judged, self.seen), self.force,
                where="the cluster, and kubernetes.version of the site file",
                why="a cluster that is half upgraded and cannot go on is worse than an old one; nothing was changed",
                first="put that right first",
            )  # fmt: skip
        return {
            "changed": False, "table": lines, "changes": [*map(str, judged.steps)], "source": str(judged.source),
            "control": judged.hosts("control"), "kubelets": batches(plan, judged.hosts("kubelet")),
            "drains": judged.drains, "diff": {"prepared": self._preview(plan, judged)},
        }  # fmt: skip

    def apply(self) -> dict[str, Any]:
        """Refuse: this version shows an upgrade, and makes none. Raises GroundupError when one is wanted."""
        done = self.check()
        if not done["changes"]:
            return done
        raise GroundupError(
            f"Kubernetes is not upgraded from {done['source']} to {self.plan().kubernetes.version}: "
            "this version shows what would be done, and does not do it",
            where="playbook groundup.cloud.kubernetes_upgrade",
            why="its steps have run on no cluster yet; nothing was changed",
            remedy=f"set kubernetes.version to {done['source']}; --tags check shows steps and diff",
        )

    def verify(self) -> dict[str, Any]:
        """Require one version everywhere. Raises GroundupError."""
        plan = self.plan()
        found = _surveyed(self._api(plan))
        away = (f"{name} is not Ready" for name in found.away)
        if wrong := [*map(str, judge(plan, found).steps), *away, *found.sick]:
            raise GroundupError(
                f"Kubernetes is not {plan.kubernetes.version} everywhere; left: {'; '.join(wrong)}",
                where="the cluster, and kubernetes.version of the site file",
                why="layers go by the version of the site file", remedy="--tags check shows what runs where",
            )  # fmt: skip
        nodes = len(found.versions.kubelets)
        return {"changed": False, "msg": f"Kubernetes {plan.kubernetes.version} on {nodes} nodes"}

    def plan(self, version: str | None = None) -> Plan:
        """Return the plan of the site file, by its own or another version of Kubernetes. Raises SiteError."""
        site = load_site(self.site_file)
        if version:
            cluster = site.kubernetes.model_copy(update={"version": version})
            site = site.model_copy(update={"kubernetes": cluster})
        return make_plan(site)

    def _preview(self, plan: Plan, judged: Judged) -> str:
        return preview(self.plan(str(judged.source)), plan) if judged.hosts("control") else ""

    def _api(self, plan: Plan) -> Api:
        path = kubeconfig_path(plan.site)
        if not path.is_file():
            raise GroundupError(
                f"no cluster of site {plan.site} is known here", where=str(path), why="an upgrade needs one",
                remedy="run the playbook groundup.cloud.kubernetes",
            )  # fmt: skip
        return Api(path)


def _surveyed(api: Api) -> FoundCluster:
    found = survey(api)
    if not found.versions.servers:
        raise GroundupError(
            "no API server of the cluster names its version", where="namespace kube-system",
            why="what runs decides what may follow",
            remedy="kubectl -n kube-system get pods -l component=kube-apiserver",
        )  # fmt: skip
    return found
