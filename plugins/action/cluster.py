"""Action of module groundup.cloud.cluster: the steps of the room kube, with the admin kubeconfig of the site."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, ClassVar

from ..plugin_utils.actions import DocumentedAction
from ..plugin_utils.hosts import of_nodes
from ..plugin_utils.kube import nodes, objects, run_lease, verify
from ..plugin_utils.kube.access import kubeconfig_path
from ..plugin_utils.kube.client import Api

VERIFIED = (
    "site", "server", "dns_domain", "image", "storage_class", "kube_router", "certificates", "certificate_days", "edge",
)  # fmt: skip


class ActionModule(DocumentedAction):
    """Run one step on the controller."""

    RULES: ClassVar = {
        "required_if": [
            ("step", "apply", ("objects",)),
            ("step", "install", ("version", "charts", "releases")),
            ("step", "wait", ("releases",)),
            ("step", "label", ("hosts",)),
            ("step", "verify", ("server", "nodes", "image")),
        ]
    }

    def work(self, given: dict[str, Any]) -> dict[str, Any]:
        if self.changes.check and given["starts"]:  # whoever answers at the kubeconfig's address is another cluster
            said = f"what the step {given['step']} changes is not known before the restored cluster is started"
            return {"changed": True, "msg": said, "not_known": True}
        steps = {
            "acquire": self._acquire, "apply": self._apply, "install": self._install,
            "wait": self._wait, "label": self._label, "verify": self._verify,
        }  # fmt: skip
        return steps[given["step"]](given)

    def _acquire(self, given: Mapping[str, Any]) -> dict[str, Any]:
        return {"changed": False, "warnings": [] if self.changes.check else run_lease.of_site(given["site"])}

    def _apply(self, given: Mapping[str, Any]) -> dict[str, Any]:
        objects.apply(given["site"], given["objects"], self.changes)
        return self._result("objects")

    def _install(self, given: Mapping[str, Any]) -> dict[str, Any]:
        from ..plugin_utils.helm.charts import Charts  # late: few runs have charts

        names = ("site", "source", "releases", "images", "version")
        charts = Charts(artifact=given["charts"], **{name: given[name] for name in names})
        if self.changes.check and (missing := charts.missing()):  # a prediction builds nothing itself
            lacks = f"the cache lacks {', '.join(missing)}, which the playbook groundup.cloud.supply makes"
            said = f"no chart can be rendered yet, so that differences are not known: {lacks}"
            return {"changed": True, "msg": said, "not_known": True, "releases": [], "diff": {}}
        changed, text = charts.install(check=self.changes.check, say=self._display.display)
        return {"changed": bool(changed), "releases": changed, "diff": {"prepared": text} if text else {}}

    def _wait(self, given: Mapping[str, Any]) -> dict[str, Any]:
        from ..plugin_utils.helm import charts, ready  # late: few runs have charts

        if self.changes.check:
            return {"skipped": True, "msg": "nothing was installed: nothing is verified in check mode"}
        api = Api(kubeconfig_path(given["site"]))
        ready.wait_ready(api, charts.releases(given["releases"]), timeout=given["timeout"])
        return {"changed": False}

    def _label(self, given: Mapping[str, Any]) -> dict[str, Any]:
        seen = nodes.label(given["site"], given["hosts"], self.changes, known=given["known"])
        return self._result("nodes") | (of_nodes(seen) if seen else {})

    def _verify(self, given: Mapping[str, Any]) -> dict[str, Any]:
        if self.changes.check:
            return {"skipped": True, "msg": "the probe makes a pod: nothing is verified in check mode"}
        report, seen = verify.verify(
            kubeconfig_path(given["site"]),
            nodes=tuple(given["nodes"]),
            spare=frozenset(given["spare"]),
            known=frozenset(given["known"]),
            **{name: given[name] for name in VERIFIED},
        )
        said = of_nodes(seen)
        warnings = [*report.warnings, *said.pop("warnings")]
        return {"changed": False, "warnings": warnings, "report": asdict(report), **said}

    def _result(self, name: str) -> dict[str, Any]:
        return {"changed": bool(self.changes.done), name: self.changes.done, "diff": self.changes.diffs}
