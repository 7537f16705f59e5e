"""The steps of module upgrade, on the controller."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ...module_utils._base.consent import refuse
from ..errors import GroundupError
from ..kube import nodes, removal
from ..kube.access import kubeconfig_path
from ..kube.client import Api
from ..kube.nodes import NODES
from ..plan import load_site, make_plan
from ..plan.output.serial import site_vars
from ..plan.types import Plan
from ..progress import Progress
from . import journal
from .decide import CODES, Judged, batches, judge, table
from .preview import preview
from .steps import skew
from .survey import CORDONED, OURS, FoundCluster, is_ours, survey

_MERGE = "application/merge-patch+json"
READY = 300.0  # seconds until a node with another kubelet is Ready
CHECKPOINT = "checkpoint"


@dataclass(frozen=True, slots=True, kw_only=True)
class UpgradeJob:
    """An upgrade as it was asked for."""

    site_file: str
    say: Progress
    force: Sequence[str] = ()
    seen: Mapping[str, Mapping[str, Any]] | None = None  # what hosts said, by name
    until: str = "end"
    timeout: float = 600  # seconds for the pods of one node

    @property
    def target(self) -> Plan:
        """The plan by the site file's own version."""
        return make_plan(load_site(self.site_file))

    def check(self) -> dict[str, Any]:
        """Return what would be done. Raises GroundupError for what stands against it."""
        if unknown := sorted({*self.force} - {*CODES}):
            raise GroundupError(
                f"kubernetes_upgrade has no risk {', '.join(unknown)} to accept",
                where="the variable kubernetes_upgrade_force", why="what is accepted must be what is lost",
                remedy=f"one of {', '.join(CODES)}",
            )  # fmt: skip
        plan, found, open_ = self.target, self._survey(), journal.under_way(self.target.site)
        judged = judge(plan, found, self.seen or {}, open_=open_, force=self.force)
        lines = table(found, judged)
        for line in lines:
            self.say(f"[upgrade] {line}")
        if judged.steps or open_:
            refuse(
                "kubernetes_upgrade", plan.site, judged.against, self.force,
                where="the cluster, and kubernetes.version of the site file",
                why="a cluster that is half upgraded and cannot go on is worse than an old one; nothing was changed",
                first="put that right first",
            )  # fmt: skip
        other = str(judged.source) if not judged.back else open_.target if open_ else ""
        after = replace(plan, kubernetes=replace(plan.kubernetes, upgrading=other))
        return {
            "changed": False, "open": open_ is not None, "table": lines, "changes": [*map(str, judged.steps)],
            "target": site_vars(after), "source": str(judged.source), "control": judged.hosts("control"),
            "kubelets": batches(plan, judged.hosts("kubelet")), "drains": judged.drains, "back": judged.back,
            "diff": {"prepared": self._preview(plan, judged)},
        }  # fmt: skip

    def begin(self) -> dict[str, Any]:
        """Write down that the upgrade has begun. Raises GroundupError, OSError."""
        plan, found = self.target, self._survey()
        source, target = str(found.versions.lowest), plan.kubernetes.version
        if journal.under_way(plan.site) is None and source == target and not found.versions.cordoned:
            source = str(min(found.versions.kubelets.values()))  # kubelets alone are left, of an upgrade by hand
        upgrade = journal.begin(plan.site, source=source, target=target)
        self.say(f"[upgrade] from {upgrade.source} to {upgrade.target}, begun {upgrade.begun}")
        return {"changed": True}

    def checkpoint(self) -> dict[str, Any]:
        """Judge the cluster before its last control host: after that there is no way back. Raises GroundupError."""
        found = self._survey()
        wrong = [*skew(found.versions), *(f"{name} is not Ready" for name in found.away)]
        if wrong or self.until == CHECKPOINT:
            what = f"the cluster is not whole: {'; '.join(wrong)}" if wrong else "the run ends here, as asked"
            raise GroundupError(
                f"checkpoint before the last control host: {what}",
                where="playbook groundup.cloud.kubernetes_upgrade",
                why="with the last API server the cluster leaves its former version for good",
                remedy="go on: run it again (kubernetes_upgrade_until=end); go back: the same with the former "
                "kubernetes.version in the site file",
            )
        return {"changed": False}

    def move(self) -> dict[str, Any]:
        """Have other layers go by the new version: every API server has it. Raises GroundupError, OSError."""
        plan, found = self.target, self._survey()
        upgrade = journal.under_way(plan.site)
        version = plan.kubernetes.version
        if behind := [name for name, server in sorted(found.versions.servers.items()) if str(server) != version]:
            raise GroundupError(
                f"API servers without {version}: {', '.join(behind)}", where="the cluster",
                why="kube-proxy, CoreDNS and kubelets must not be newer than any of them", remedy="run it again",
            )  # fmt: skip
        if upgrade and upgrade.live != version:
            journal.move(plan.site, upgrade, live=version)
        return {"changed": upgrade is not None and upgrade.live != version}

    def drain(self, hosts: Sequence[str], *, evict: bool) -> dict[str, Any]:
        """Cordon ``hosts``, and with ``evict`` move their pods away. Raises GroundupError."""
        api = self._api()
        for host in hosts:
            node = api.get(f"{NODES}/{host}")
            if not (node.get("spec") or {}).get("unschedulable"):
                body = {"metadata": {"annotations": {CORDONED: OURS}}, "spec": {"unschedulable": True}}
                api.request("PATCH", f"{NODES}/{host}", body=body, content_type=_MERGE)
            if evict:
                leaving = removal.survey(api, host)
                removal.drain(api, leaving, timeout=self.timeout, say=self.say, verb="kubernetes_upgrade")
        return {"changed": bool(hosts)}

    def let_in(self, hosts: Sequence[str]) -> dict[str, Any]:
        """Wait until the kubelets of ``hosts`` have the new version, and end our cordon. Raises GroundupError."""
        api, version = self._api(), self.target.kubernetes.version
        nodes.wait_ready(api, hosts, timeout=READY, known=self.target.hosts)
        for host in hosts:
            node = api.get(f"{NODES}/{host}")
            if (runs := node["status"]["nodeInfo"]["kubeletVersion"]) != f"v{version}":
                raise GroundupError(
                    f"the kubelet of {host} is {runs}, not v{version}", where=f"Node {host}, which takes no new pods",
                    why="its node would run what nobody chose", remedy="see journalctl -u kubelet there; run it again",
                )  # fmt: skip
            if is_ours(node):
                body = {"metadata": {"annotations": {CORDONED: None}}, "spec": {"unschedulable": None}}
                api.request("PATCH", f"{NODES}/{host}", body=body, content_type=_MERGE)
        return {"changed": bool(hosts)}

    def verify(self) -> dict[str, Any]:
        """Require one version everywhere, and no cordon of ours. Raises GroundupError."""
        plan, found = self.target, self._survey()
        left = judge(plan, found, {}, open_=None, force=()).steps
        if left or found.versions.cordoned or found.away:
            wrong = [*map(str, left), *(f"{name} is not Ready" for name in found.away)]
            raise GroundupError(
                f"Kubernetes is not {plan.kubernetes.version} everywhere; left: {'; '.join(wrong)}",
                where="the cluster", why="an upgrade that has begun must end", remedy="run it again: it goes on",
            )  # fmt: skip
        return {
            "changed": False,
            "msg": f"Kubernetes {plan.kubernetes.version} on {len(found.versions.kubelets)} nodes",
        }

    def end(self) -> dict[str, Any]:
        """Write down that the upgrade has ended. Raises GroundupError, OSError."""
        done = self.verify()
        journal.end(self.target.site)
        return done | {"changed": True}

    def _preview(self, plan: Plan, judged: Judged) -> str:
        if not judged.hosts("control"):
            return ""
        site = load_site(self.site_file)
        version = str(judged.source if not judged.back else self._survey().versions.lowest)
        cluster = site.kubernetes.model_copy(update={"version": version})
        return preview(make_plan(site.model_copy(update={"kubernetes": cluster})), plan)

    def _api(self) -> Api:
        path = kubeconfig_path(self.target.site)
        if not path.is_file():
            raise GroundupError(
                f"no cluster of site {self.target.site} is known here", where=str(path),
                why="an upgrade needs one", remedy="run the playbook groundup.cloud.kubernetes",
            )  # fmt: skip
        return Api(path)

    def _survey(self) -> FoundCluster:
        found = survey(self._api())
        if not found.versions.servers:
            raise GroundupError(
                "no API server of the cluster names its version", where="namespace kube-system",
                why="what runs decides what may follow",
                remedy="kubectl -n kube-system get pods -l component=kube-apiserver",
            )  # fmt: skip
        return found
