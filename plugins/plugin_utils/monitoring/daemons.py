"""Alerts of daemons that each host's own program looks at (`host_metrics`): those of its Node, and all other units."""

from __future__ import annotations

from ...module_utils._hypervisor import services, sriov
from ..plan.types import Plan
from .cloud_state import CLOUD_STATE
from .record import AlertRecord

READY = 'kube_node_status_condition{condition="Ready",status="true"}'
# Of an API that nobody reaches, ApiServersOut or the loss of its hosts tells; of a control host's own, TargetDown.
_CUT_OFF = (
    'groundup_node_known == 0 unless on (object) up{job="api-server"} == 0 '
    'and on () haproxy_backend_active_servers{job="haproxy",proxy="kubernetes"} > 0'
)


def _ended(plan: Plan) -> str:
    """Return the units that ended, without those that report to the cloud where their silence is told."""
    report = (services.COMPUTE, sriov.AGENT) if CLOUD_STATE["HypervisorServiceSilent"].expression(plan) else ()
    return f'groundup_unit_up{{unit!~"{"|".join(report)}"}} == 0' if report else "groundup_unit_up == 0"


DAEMONS: dict[str, AlertRecord] = {
    "NodeNotReady": AlertRecord(
        layer="kubernetes", job="node", severity="critical",
        expr=f"max by (object) (kubelet_up == 0 or container_runtime_up == 0 or {READY} == 0 or ({_CUT_OFF}))",
        what="the node {object} is not ready: its kubelet or container runtime is silent or unwell, or is cut off from "
        "the API",
        why="no pod starts or ends there; after five minutes its pods are replaced elsewhere, where they can be",
        remedy="kubectl describe node; on the host: journalctl -n 50 -u kubelet -u containerd; run "
        "groundup.cloud.kubernetes",
    ),
    "UnitEnded": AlertRecord(
        layer="host", job="node", severity="warning",
        expr=_ended,
        what="{unit} of {object} does not run",
        why="what it does for the host or the cloud is not done: it ended, does not start, or is stopped",
        remedy="on the host: systemctl status and journalctl -n 50 -u of it; disable one that is not wanted; one "
        "that is stopped (state T) goes on with kill -CONT, one in state D waits for its disk",
    ),
    "UnitRestarts": AlertRecord(
        layer="host", job="node", severity="warning", after="1m",
        expr="changes(groundup_unit_since_boot_seconds[15m]) > 2",
        what="{unit} of {object} starts again and again",
        why="it ends by itself; between two starts, what it does is not done",
        remedy="on the host: journalctl -n 100 -u of it says why it ends",
    ),
}  # fmt: skip
