"""What is scraped: one record a job, with its layer, its hosts and how it is asked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from ...module_utils._host.watched import (
    CENTRAL_PORTS,
    CEPH_PORT,
    EDGE_PORT,
    EXPORTER_PORT,
    LOG_RULES_PORT,
    LOG_STORE_PORT,
    METRICS_AGENT_PORT,
)
from ...module_utils._monitoring.verify import AGENT
from ..layers.roles import Role
from ..plan.types import HostPlan, Plan

Credential = Literal[
    "monitoring", "kubernetes", "none"
]  # monitoring's client certificate; a token; none: HTTP without a login
_STORE, _RULES, _ALERTS = CENTRAL_PORTS
_EDGE = "run the playbook groundup.cloud.kubernetes, which writes HAProxy's listener"


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRecord:
    """One kind of target."""

    layer: str  # a layer of the site, or "monitoring" itself
    what: str
    port: int | Callable[[Plan], int]
    path: str = "/metrics"
    credential: Credential = "monitoring"
    hosts: Callable[[Plan], list[HostPlan]]
    loopback: bool = False  # asked by the monitoring host at itself
    remedy: str  # when it is silent
    one_answers: bool = False  # of its targets; the others stand by

    def number(self, plan: Plan) -> int:
        """Return the port of its targets."""
        return self.port if isinstance(self.port, int) else self.port(plan)

    def address(self, plan: Plan, host: HostPlan) -> str:
        """Return address and port of the target on ``host``."""
        return f"{'127.0.0.1' if self.loopback else host.address}:{self.number(plan)}"


def _all(plan: Plan) -> list[HostPlan]:
    # A machine that was not discovered yet has no address.
    return [host for host in plan.hosts.values() if host.address]


def _with(role: Role) -> Callable[[Plan], list[HostPlan]]:
    return lambda plan: [host for host in _all(plan) if role in host.roles]


def _managers(plan: Plan) -> list[HostPlan]:
    managers = plan.ceph.managers if plan.ceph and plan.ceph.metrics else ()
    return [host for host in _all(plan) if host.name in managers]


def _own(plan: Plan) -> list[HostPlan]:
    return [host for host in _all(plan) if plan.monitoring and host.name == plan.monitoring.host]


def _sends(plan: Plan) -> list[HostPlan]:
    return _own(plan) if plan.monitoring and plan.monitoring.remote_write else []


def _keeps_logs(plan: Plan) -> list[HostPlan]:
    return _own(plan) if plan.monitoring and plan.monitoring.logs else []


def writers(plan: Plan) -> list[HostPlan]:
    """Return the hosts that write logs."""
    return _all(plan) if plan.monitoring and plan.monitoring.logs else []


JOBS: dict[str, JobRecord] = {
    "node": JobRecord(
        layer="host", what="node exporter: the machine, its disks and its clock", port=EXPORTER_PORT, hosts=_all,
        remedy="journalctl -n 50 -u prometheus-node-exporter; run the playbook groundup.cloud.monitoring",
    ),
    "haproxy": JobRecord(
        layer="kubernetes", what="HAProxy's own metrics: the API and the public names", port=EDGE_PORT,
        hosts=_with("control"), remedy=_EDGE,
    ),
    # etcd's own listener for metrics is on loopback: HAProxy of the same host passes it on.
    "etcd": JobRecord(
        layer="kubernetes", what="etcd's own metrics, through HAProxy of its host", port=EDGE_PORT,
        path="/etcd/metrics", hosts=_with("control"), remedy=_EDGE,
    ),
    "api-server": JobRecord(
        layer="kubernetes", what="API server's own metrics (group `system:monitoring`)",
        port=lambda plan: plan.kubernetes.api_port, credential="kubernetes", hosts=_with("control"),
        remedy="crictl logs of kube-apiserver on the host; run the playbook groundup.cloud.kubernetes, tag verify",
    ),
    "ceph": JobRecord(
        layer="storage", what="Ceph's module `prometheus`: the active manager; one that stands by need not answer",
        port=CEPH_PORT, credential="none", hosts=_managers, one_answers=True,
        remedy="on a host of Ceph: ceph mgr services; run the playbook groundup.cloud.storage",
    ),
    "store": JobRecord(
        layer="monitoring", what="VictoriaMetrics", port=_STORE, credential="none", hosts=_own, loopback=True,
        remedy="journalctl -n 50 -u groundup-metrics",
    ),
    "rules": JobRecord(
        layer="monitoring", what="vmalert", port=_RULES, credential="none", hosts=_own, loopback=True,
        remedy="journalctl -n 50 -u groundup-alert-rules",
    ),
    "alerts": JobRecord(
        layer="monitoring", what="Alertmanager", port=_ALERTS, credential="none", hosts=_own, loopback=True,
        remedy="journalctl -n 50 -u prometheus-alertmanager",
    ),
    AGENT: JobRecord(
        layer="monitoring", what="vmagent, with `monitoring.remote_write`", port=METRICS_AGENT_PORT,
        credential="none", hosts=_sends, loopback=True, remedy="journalctl -n 50 -u groundup-metrics-agent",
    ),
    "log-store": JobRecord(
        layer="monitoring", what="VictoriaLogs, with `monitoring.logs`", port=LOG_STORE_PORT, credential="none",
        hosts=_keeps_logs, loopback=True, remedy="journalctl -n 50 -u groundup-logs",
    ),
    "log-rules": JobRecord(
        layer="monitoring", what="vmalert that counts lines of logs, with `monitoring.logs`", port=LOG_RULES_PORT,
        credential="none", hosts=_keeps_logs, loopback=True, remedy="journalctl -n 50 -u groundup-log-rules",
    ),
}  # fmt: skip


def counted(plan: Plan) -> dict[str, int]:
    """Return the number of targets of each job that the site has."""
    return {name: number for name, job in JOBS.items() if (number := len(job.hosts(plan)))}


def expression(expr: str | Callable[[Plan], str], *, job: str, plan: Plan) -> str:
    """Return what is asked of the targets of ``job`` on this site; "": it has none, or ``expr`` needs none there."""
    if job not in counted(plan):
        return ""
    return expr if isinstance(expr, str) else expr(plan)
