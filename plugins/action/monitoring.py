"""Action of module groundup.cloud.monitoring: the plan's files, targets and credentials for the monitoring host."""

from __future__ import annotations

import base64
import os
import socket
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from typing import Any

from ansible.errors import AnsibleConnectionFailure

from ..module_utils._base.errors import GroundupError
from ..module_utils._base.text import few
from ..module_utils._base.wait import wait_until
from ..plugin_utils.actions import StepAction
from ..plugin_utils.hosts import spared
from ..plugin_utils.kube.access import kubeconfig_path
from ..plugin_utils.kube.client import Api
from ..plugin_utils.layers.layers import ALERTMANAGER, JOURNAL_UPLOAD, LOG_DOOR
from ..plugin_utils.monitoring.backups import ages
from ..plugin_utils.monitoring.files import files
from ..plugin_utils.monitoring.jobs import JOBS
from ..plugin_utils.monitoring.redfish import controllers
from ..plugin_utils.monitoring.routing import secrets_of
from ..plugin_utils.monitoring.targets import expected
from ..plugin_utils.plan import Plan, load_site, make_plan
from ..plugin_utils.plan.part_types import MonitoringPlan
from ..plugin_utils.supply.publish import digests
from ..plugin_utils.vault import open_store

ACCOUNT = "/api/v1/namespaces/kube-system/secrets/groundup-monitoring"  # the role makes it
_BESIDE = {  # steps of runs of something else -> the remedy when they fail
    "tell": "run groundup.cloud.monitoring when that is mended",
    "backups": "run groundup.cloud.monitoring when that is mended",
    "drift": "run groundup.cloud.monitoring when that is mended",
    "failure": "run groundup.cloud.monitoring when that is mended",
    "capacity": "run groundup.cloud.monitoring when that is mended",
    "silence": "expect alerts about what this run works on",
    "hear": "the silence ends by itself; to end it now: amtool silence expire, on that host",
}
PATIENCE = 30.0  # seconds for Kubernetes to fill it in


class ActionModule(StepAction):
    """Run the step on the host, with what it needs of the plan; a host that is only watched is set aside."""

    def work(self, given: dict[str, Any]) -> dict[str, Any]:
        """Return the step's result, or that of setting the host aside."""
        done = self._done(given)
        warnings = [*done.get("warnings", ()), *self.changes.warnings]
        return done | ({"warnings": warnings} if warnings else {})

    def _done(self, given: dict[str, Any]) -> dict[str, Any]:
        if given["step"] in _BESIDE:
            return self._beside(given)
        central = given["name"] == given["monitoring_host"]
        step = partial(self._told, given, central=central)
        return spared(step, self.variables, layer="monitoring", spare=not self.changes.check and not central)

    def _beside(self, given: dict[str, Any]) -> dict[str, Any]:
        """Tell the monitoring host what another run did; that is done without it, too: what fails is a warning."""
        try:
            result = self._told(given, central=True)
        except AnsibleConnectionFailure as error:
            result = {"failed": True, "msg": f"it does not answer: {error}"}
        if not result.get("failed"):
            return result
        said = f"monitoring on {given['name']} was not told: {result['msg']}. Remedy: {_BESIDE[given['step']]}"
        return {"changed": False, "warnings": [said]}

    def _told(self, given: dict[str, Any], *, central: bool) -> dict[str, Any]:
        """Run the step with what the monitoring host is told of the plan."""
        plan = make_plan(load_site(given["site_file"])) if central else None
        if plan is None or plan.monitoring is None:  # the site file changed after this run began
            if given["step"] != "converge":
                return {"changed": False}
            return super().work({**self._logs(given), "central": None, "tls": {}})
        asked: dict[str, Callable[[], dict[str, Any]]] = {
            "verify": lambda: {"targets": expected(plan, without=given["absent"])},
            "tell": lambda: {"files": files(plan), **self._receivers(plan)},
            "backups": lambda: {"backups": ages(plan, given["directory"], warnings=self.changes.warnings)},
            "drift": dict,
            "failure": dict,
            "capacity": dict,
            "silence": lambda: {"run": f"{given['run']}, by process {os.getppid()} on {socket.gethostname()}"},
            "hear": dict,
        }  # fmt: skip
        if more := asked.get(given["step"]):
            return super().work({**given, "interval": plan.monitoring.interval, **more()})
        own = {"central": self._central(plan, plan.monitoring), "tls": self._tls(plan, given), **self._receivers(plan)}
        return super().work({**self._logs(given), **own, **self._controllers(plan)})

    def _controllers(self, plan: Plan) -> dict[str, Any]:
        """Return how management controllers are asked, and their passwords by name; one without is not asked."""
        machines = controllers(plan)
        stored = open_store(plan.site, write=False).items() if machines else {}
        names = {one["credentials"] for one in machines.values()}
        if lacking := sorted(names - stored.keys()):
            unasked = [name for name, one in machines.items() if one["credentials"] in lacking]
            self.changes.warnings.append(
                f"power supplies and fans of {few(unasked, most=3)} are not watched: the secrets store has no "
                f"{', '.join(lacking)}. Remedy: give it (secrets_given, docs/secrets.md), then run "
                "groundup.cloud.monitoring"
            )
        return {
            "controllers": {name: one for name, one in machines.items() if one["credentials"] in stored},
            "passwords": {name: stored[name] for name in sorted(names & stored.keys())},
        }

    def _receivers(self, plan: Plan) -> dict[str, Any]:
        """Return the secrets by which alerts and metrics are sent, by path."""
        names = secrets_of(plan.monitoring) if plan.monitoring else {}
        store = open_store(plan.site, write=False) if names else None
        return {"receivers": {path: store.get(name) for path, name in names.items()} if store else {}}

    def _logs(self, given: dict[str, Any]) -> dict[str, Any]:
        """Return the options with the digest of what writes logs."""
        if not (logs := given["logs"]):
            return given
        digest = self._published(given["site"], logs["seed"]).files.get(f"{logs['programs']}/vlagent")
        return {**given, "logs": {**logs, "sha256": digest, "packages": [JOURNAL_UPLOAD]}}

    def _published(self, site: str, seed: str | None) -> digests.PublishedDigests:
        return digests.of_dry_run(self.variables, seed=seed) or digests.required(
            site, seed=seed, dry_run=self.changes.check
        )

    def _tls(self, plan: Plan, given: dict[str, Any]) -> dict[str, str]:
        own = {
            "monitoring.crt": given["client_certificate"], "monitoring.key": given["client_key"],
            "monitoring-ca.crt": given["ca_certificate"],
        }  # fmt: skip
        return own | self._token(plan)

    def _token(self, plan: Plan) -> dict[str, str]:
        """Return token and CA for API servers; nothing in a dry run before there is a cluster."""
        path, found = kubeconfig_path(plan.site), dict[str, str]()

        def pending() -> bool:
            found.update((api.find(ACCOUNT) or {}).get("data") or {})
            return "token" not in found

        if self.changes.check and not path.is_file():
            return {}
        api = Api(path)
        if wait_until(pending, timeout=0 if self.changes.check else PATIENCE):
            if self.changes.check:
                return {}
            raise GroundupError(
                "the cluster gives monitoring no token",
                where=f"Secret kube-system/{ACCOUNT.rpartition('/')[2]}",
                why="API servers tell their metrics to known accounts alone",
                remedy="kubectl -n kube-system logs -l component=kube-controller-manager; then run this again",
            )
        names = {"kubernetes.token": "token", "kubernetes-ca.crt": "ca.crt"}
        return {file: base64.b64decode(found[key]).decode() for file, key in names.items()}

    def _central(self, plan: Plan, monitoring: MonitoringPlan) -> dict[str, Any]:
        logs = monitoring.logs
        places = (monitoring.programs, *([logs.programs] if logs else []))
        published = self._published(plan.site, plan.supply.seed).files.items()
        kept = logs and {
            "programs_url": f"{plan.supply.files_url}/{logs.programs}", "retention_days": logs.retention_days,
            "max_gib": logs.max_gib, "writers": list(plan.supply.readers),
            "off": [] if monitoring.host in plan.edge.hosts else ["haproxy.service"],  # Debian starts it
        }  # fmt: skip
        return {
            "files": files(plan), "retention_days": monitoring.retention_days,
            "hosts": len(plan.hosts), "central_packages": [ALERTMANAGER, *([LOG_DOOR] if logs else [])],
            "remote_write": asdict(monitoring.remote_write) if monitoring.remote_write else None,
            "backups": ages(plan, warnings=self.changes.warnings), "kept_logs": kept,
            "programs_url": f"{plan.supply.files_url}/{monitoring.programs}",
            "api_servers": [JOBS["api-server"].address(plan, host) for host in JOBS["api-server"].hosts(plan)],
            "digests": {
                name.removeprefix(f"{place}/"): one
                for place in places for name, one in published if name.startswith(f"{place}/")
            },
        }  # fmt: skip
