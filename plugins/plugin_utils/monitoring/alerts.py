"""Alerts, one record each. Numbers that follow from the plan (members, targets) are put into the expression."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from ...module_utils._monitoring.remote_write import BUFFER
from ..plan.layout.places import NO_RACK
from ..plan.types import Plan
from .capacity import CAPACITY_ALERTS
from .carriers import CARRIERS
from .cloud_state import CLOUD_STATE
from .daemons import DAEMONS
from .drift import DRIFT_ALERTS
from .drives import DRIVES
from .logs import ALL_LINES, LINES, SILENT
from .machines import MACHINES
from .members import MEMBERS
from .record import AlertRecord, last, named, of_lost_hosts
from .redfish import REDFISH_ALERTS
from .storage import STORAGE_ALERTS
from .workloads import WORKLOADS


def _quorum_at_risk(plan: Plan) -> str:
    # With one member there is no quorum to lose; of two, each is needed from the start.
    members = plan.kubernetes.etcd_members
    # One whose HAProxy alone is away is not asked, and may serve.
    unasked = 'up{job="haproxy"} == 0 and on (object) up{job="node"} == 1'
    lost = f'count(up{{job="etcd"}} == 0 unless on (object) ({unasked}))'
    return f"{lost} >= {max((members - 1) // 2, 1)}" if members > 1 else ""


def _backup_age(plan: Plan) -> str:
    # Without a timer, nobody promised a backup.
    newest = 'max by (part) (groundup_backup_newest_timestamp_seconds{part!="binary-logs"})'
    return f"time() - {newest} > 2 * 86400" if plan.backups.schedule else ""


def _logs_age(plan: Plan) -> str:
    newest = last('groundup_backup_newest_timestamp_seconds{part="binary-logs"}', plan)
    return f"time() - {newest} > 3600" if plan.backups.logs_every else ""


def _failure(expr: Callable[[Plan], str]) -> Callable[[Plan], str]:
    return lambda plan: expr(plan) if plan.openstack.hypervisor_failure else ""


def _nobody_serves(*proxies: str) -> str:
    """Return the backends of HAProxy for whom no control host has a server that passes its check, as objects."""
    # Not by their state: servers that are never checked stand by for public names.
    served = f'haproxy_backend_active_servers{{job="haproxy",proxy=~"{"|".join(proxies)}"}}'
    return named(f"max by (proxy) ({served}) == 0", "proxy")


def _public_name_down(plan: Plan) -> str:
    types = [one.type for one in plan.edge.endpoints]
    return _nobody_serves(*types) if types else ""


def request_rate(only: str) -> str:
    """Return the requests of API servers, a second; ``only``: more matchers."""
    return f'sum by (object) (rate(apiserver_request_total{{job="api-server"{only}}}[2m]))'


def _racks(plan: Plan) -> str:
    """Return the racks most of whose hosts do not answer, as objects; without the monitoring host, which tells it."""
    hosts = [host for host in plan.hosts.values() if plan.monitoring and host.name != plan.monitoring.host]
    by_least: dict[int, list[str]] = {}
    for rack, number in sorted(Counter(host.rack for host in hosts if host.rack != NO_RACK).items()):
        if number > 1:
            by_least.setdefault(number // 2 + 1, []).append(rack)
    lost = " or ".join(
        f'count by (rack) (up{{job="node",rack=~"{"|".join(racks)}"}} == 0) >= {least}'
        for least, racks in sorted(by_least.items())
    )
    return named(lost, "rack") if lost else ""


FAILED = ',code=~"5.."'

ALERTS: dict[str, AlertRecord] = {
    "RackDown": AlertRecord(
        # Before HostDown, which it hides: some of its hosts are asked later.
        layer="host", job="node", severity="critical", after="30s",
        expr=_racks,
        what="most hosts of the rack {object} do not answer",
        why="what runs there is lost or unseen: its power or its switch failed; its hosts are not told one by one",
        remedy="look at the rack's power and its switch; groundup.cloud.status names the hosts that do not answer",
    ),
    "HostDown": AlertRecord(
        layer="host", job="node", severity="critical",
        expr='up{job="node"} == 0',
        what="{object} does not answer",
        why="what runs on it is lost or unseen: the machine is off, its network is cut, or its node exporter stopped",
        remedy="run groundup.cloud.status; if the machine is off, switch it on at its management controller",
    ),
    **MACHINES,
    **DRIVES,
    "ClockOff": AlertRecord(
        layer="host", job="node", severity="warning", after="5m",
        expr='abs(node_timex_offset_seconds{job="node"}) > 0.05 or node_timex_sync_status{job="node"} == 0',
        what="the clock of {object} is not synchronised, or 50 ms off",
        why="Ceph's monitors leave the quorum, tokens and certificates are refused",
        remedy="look at chronyc tracking and chronyc sources on the host; then run groundup.cloud.host",
    ),
    "CertificateEnding": AlertRecord(
        layer="host", job="node", severity="warning", after="5m",
        expr="groundup_certificate_not_after_timestamp_seconds - time() < 14 * 86400",
        what="{path} of {object} ends in less than 14 days",
        why="who asks this service refuses it from then on",
        remedy="run groundup.cloud.site, which renews certificates; of the operator's own, write the new one first; "
        "if a single layer or a hook has renewed it, run groundup.cloud.monitoring, which tells the new end",
    ),
    "BackupOld": AlertRecord(
        layer="host", job="node", severity="warning", after="5m", object="backups",
        expr=_backup_age,
        what="the newest backup of {part} is older than two days, or there is none",
        why="a loss now costs all changes since then",
        remedy="read why: journalctl of the timer's unit on the control node; then run groundup.cloud.backup",
    ),
    "BinaryLogsOld": AlertRecord(
        layer="host", job="node", severity="warning", after="5m", object="backups",
        expr=_logs_age,
        what="binary logs were not copied for an hour, or follow no set",
        why="a loss of the databases now costs all that was committed since then, or since the newest set",
        remedy="run groundup.cloud.status, row binary logs: it names the unit that copies, or asks for a set "
        "(groundup.cloud.backup)",
    ),
    **REDFISH_ALERTS,
    **DRIFT_ALERTS,
    "HypervisorFailed": AlertRecord(
        layer="hypervisor", job="node", severity="critical", after="0s",
        expr=_failure(
            lambda _: named("max by (hypervisor, project) (groundup_hypervisor_down_instances) > 0", "hypervisor")
        ),
        what="instances of project {project} are down with {object}, or out of reach",
        why="nobody comes to what they serve, and their owners do not know why",
        remedy="run groundup.cloud.hypervisor_failure: it names instances and owners, and why they are not evacuated",
    ),
    "HypervisorLookOld": AlertRecord(
        layer="monitoring", job="node", severity="warning", after="5m", object="hypervisor_failure",
        expr=_failure(lambda plan: f"time() - {last('groundup_hypervisor_looked_timestamp_seconds', plan)} > 900"),
        what="nobody looked for dead hypervisors for a quarter of an hour",
        why="one that dies now is neither told nor evacuated",
        remedy="read why: journalctl of the unit groundup-hypervisor-failure-SITE on the control node",
    ),
    "LogsStopped": AlertRecord(
        layer="host", job="log-store", severity="warning", after="5m",
        # Of those that answer, where others write; a store that lost all is LogsMissing.
        expr=f'(up{{job="node"}} == 1 unless on (object) label_replace({LINES}, "object", "$1", "host", "(.+)")) '
        f"and on () {ALL_LINES} > 0",
        what="the store has no line of the logs of {object} for ten minutes",
        why="what happens there now may never be read; after a while its buffer drops the oldest lines",
        remedy=SILENT,
    ),
    "LogsMissing": AlertRecord(
        layer="monitoring", job="log-store", severity="critical", after="5m", object="logs",
        expr=f"{ALL_LINES} == 0",
        what="no host's logs are stored",
        why="nothing that happens now can be read; after a while the hosts' buffers drop the oldest lines",
        remedy="on the monitoring host: journalctl -n 50 -u groundup-logs-door -u groundup-logs -u groundup-log-rules; "
        "below 1 GiB of free disk the store takes nothing",
    ),
    "RemoteWriteFails": AlertRecord(
        layer="monitoring", job="agent", severity="warning", after="10m",
        # The first of two URLs.
        expr='increase(vmagent_remotewrite_retries_count_total{job="agent",url=~"1:.+"}[5m]) > 0',
        what="the store of monitoring.remote_write does not take metrics",
        why=f"they wait on the monitoring host's disk; after {BUFFER} the oldest are dropped",
        remedy="on the monitoring host: journalctl -n 50 -u groundup-metrics-agent, which says what that store answers",
    ),
    "EtcdNoLeader": AlertRecord(
        layer="kubernetes", job="etcd", severity="critical",
        expr='etcd_server_has_leader{job="etcd"} == 0',
        what="the etcd member of {object} has no leader",
        why="without a leader the Kubernetes API takes no writes",
        remedy="start control hosts that are down; with a quorum lost for good, restore (docs/backup.md)",
    ),
    "EtcdQuorumAtRisk": AlertRecord(
        layer="kubernetes", job="etcd", severity="critical", object="etcd",
        expr=_quorum_at_risk,
        what="beside the members of etcd that do not answer, one more lost one costs the quorum",
        why="without a quorum the Kubernetes API takes no writes",
        remedy="bring the control host that is down back before you touch another; groundup.cloud.status names it",
    ),
    "ApiServerErrors": AlertRecord(
        layer="kubernetes", job="api-server", severity="warning", after="1m",
        expr=f"{request_rate(FAILED)} / {request_rate('')} > 0.05",
        what="the API server of {object} answers more than one request in twenty with an error of its own",
        why="pods are not scheduled or moved while it fails",
        remedy="read its log (crictl logs) and look at etcd of the same host: slow disks show first there",
    ),
    "ApiServersOut": AlertRecord(
        layer="kubernetes", job="haproxy", severity="critical",
        expr=_nobody_serves("kubernetes"),
        what="no API server passes HAProxy's check",
        why="nobody can change or read the cluster; pods run on as they are",
        remedy="look at etcd's quorum first; then journalctl -u kubelet and crictl logs of kube-apiserver",
    ),
    "HaproxyServerOut": AlertRecord(
        layer="kubernetes", job="haproxy", severity="warning",
        expr=f'haproxy_server_status{{job="haproxy",state="DOWN"}} == 1 unless on (server) {of_lost_hosts("server")}',
        what="HAProxy of {object} has taken {server} out of {proxy}",
        why="fewer servers carry the load; with the last one the API or the public name is gone",
        remedy="run groundup.cloud.status: it names the pod or host behind that server",
    ),
    "PublicNameDown": AlertRecord(
        layer="openstack", job="haproxy", severity="critical",
        expr=_public_name_down,
        what="no server of {object} passes HAProxy's check",
        why="users get errors in place of this API",
        remedy="run groundup.cloud.openstack --tags verify: a failure card names the cause",
    ),
    **STORAGE_ALERTS,
    **CAPACITY_ALERTS,
    **CARRIERS,
    **DAEMONS,
    **WORKLOADS,
    **MEMBERS,
    **CLOUD_STATE,
}  # fmt: skip
