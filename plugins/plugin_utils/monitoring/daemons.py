"""Alerts of what each host's own program looks at (`host_metrics`): its Node, all other units, virtual IPs."""

from __future__ import annotations

from ...module_utils._hypervisor import services, sriov
from ..plan.types import Plan
from .cloud_state import CLOUD_STATE
from .record import AlertRecord, named

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


def _starts_again(plan: Plan) -> str:
    # Each restart is seen once at most, by the scrape after it. A new series counts as one, and runs restart twice.
    interval = plan.monitoring.interval if plan.monitoring else 0
    long, recent = max(900, 6 * interval), max(300, 2 * interval)
    started = "groundup_unit_started_seconds"
    return f"changes({started}[{long}s]) > 3 and changes({started}[{recent}s]) > 0"


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
        why="what it does for the host or the cloud is not done: it ended, does not start, or stands still",
        remedy="on the host: systemctl status and journalctl -n 50 -u of it; disable one that is not wanted; one that "
        "stands still is T (stopped: kill -CONT) or D (waits for a disk) in ps -o pid,stat,wchan:30",
    ),
    "UnitRestarts": AlertRecord(
        layer="host", job="node", severity="warning", after="1m",
        expr=_starts_again,
        what="{unit} of {object} ends and starts again and again",
        why="what it does for the host or the cloud is interrupted each time, and may never be done",
        remedy="on the host: journalctl -n 100 -u of it says why it ends; told until it has run for five minutes",
    ),
    "UnitSilent": AlertRecord(
        # Ironic needs a minute to start on a busy machine.
        layer="host", job="node", severity="warning", after="2m",
        expr="groundup_unit_answers == 0",
        what="{unit} of {object} runs and does not answer",
        why="who asks it waits in vain: it hangs, or still starts",
        remedy="on the host: journalctl -n 50 -u of it; systemctl restart of it",
    ),
    "VirtualIpAway": AlertRecord(
        layer="kubernetes", job="node", severity="critical",
        expr=named("max by (address) (groundup_virtual_ip) == 0", "address"),
        what="no control host that was asked has the virtual IP {object}",
        why="nobody reaches the Kubernetes API or the public names by it",
        remedy="on the control hosts: systemctl status keepalived haproxy, journalctl -n 50 -u of both; none takes the "
        "address while its own HAProxy is silent or it is cut off from the others",
    ),
    "VirtualIpTwice": AlertRecord(
        layer="kubernetes", job="node", severity="critical",
        expr=named("sum by (address) (groundup_virtual_ip) > 1", "address"),
        what="more than one control host has the virtual IP {object}",
        why="connections to it break, as packets go to one and then to another: a keepalived hangs, or hosts do not "
        "hear each other",
        remedy="on each control host: ip address, systemctl status keepalived; restart the one that hangs; protocol "
        "112 (VRRP) must pass between control hosts",
    ),
}  # fmt: skip
