"""Panels of Kubernetes and etcd, HAProxy, and Ceph."""

from __future__ import annotations

from collections.abc import Callable

from ..plan.types import Plan
from .alerts import FAILED, request_rate
from .panels import DashboardRecord, PanelRecord, grown, most, rate, slowest

_OF_NAMES, _FAILED_OF_NAMES = ',proxy=~"NAMES"', ',proxy=~"NAMES",code="5xx"'
_QUIET = ',verb!~"WATCH|CONNECT"'  # those last as long as their clients want


def _public(expr: str) -> Callable[[Plan], str]:
    """Return the query of the site's public names, in place of NAMES; none where it has none."""
    return lambda plan: expr.replace("NAMES", "|".join(one.type for one in plan.edge.endpoints)) if (
        plan.edge.endpoints
    ) else ""  # fmt: skip


def _served(plan: Plan) -> str:
    # Backends that only count have no server at all.
    names = "|".join(["kubernetes", *(one.type for one in plan.edge.endpoints)])
    return f'min by (proxy) (haproxy_backend_active_servers{{job="haproxy",proxy=~"{names}"}})'


def _named(pools: str) -> str:
    """Return a query of Ceph's pools with their names; ``pools``: one that keeps pool and manager."""
    names = 'on (pool_id, object) group_left (name) ceph_pool_metadata{job="ceph"}'
    return f"sum by (name) ({pools} * {names})"


def _daemons(metric: str) -> str:
    return f'max by (ceph_daemon) ({metric}{{job="ceph"}})'


API_ERRORS = PanelRecord(
    title="Failed requests to API servers", job="api-server", unit="%", legend="{object}",
    expr=f"100 * ({request_rate(FAILED)} or 0 * {request_rate('')}) / {request_rate('')}",
    alerts=("ApiServerErrors",), what="requests that an API server answered with an error of its own",
)  # fmt: skip
MEMBERS = PanelRecord(
    title="Members of etcd", job="etcd", expr='sum(up{job="etcd"})', legend="members",
    alerts=("EtcdQuorumAtRisk",), what="that answer; without most of them the Kubernetes API takes no writes",
)  # fmt: skip
SERVED = PanelRecord(
    title="Servers behind names", job="haproxy", expr=_served, legend="{proxy}",
    alerts=("ApiServersOut", "PublicNameDown"),
    what="servers that pass HAProxy's check, as the control host with fewest sees them; 0: nobody serves that name",
)  # fmt: skip
HEALTH = PanelRecord(
    title="Health of Ceph", job="ceph", expr='max(ceph_health_status{job="ceph"})', legend="health",
    alerts=("CephError",), what="0: well, 1: HEALTH_WARN, 2: HEALTH_ERR",
)  # fmt: skip
CEPH_USED = PanelRecord(
    title="Space of Ceph", job="ceph", unit="%", legend="in use",
    expr='100 * max(ceph_cluster_total_used_raw_bytes{job="ceph"}) / max(ceph_cluster_total_bytes{job="ceph"})',
    what="raw space in use; with one OSD at 85 Ceph warns, with one at 95 it takes no writes",
)  # fmt: skip

KUBERNETES = DashboardRecord(
    title="Kubernetes and etcd", what="API servers, and the store behind them",
    panels=(
        API_ERRORS,
        PanelRecord(
            title="Requests to API servers", job="api-server", unit="/s", expr=request_rate(""), legend="{object}",
            what="by API server",
        ),
        PanelRecord(
            title="Slow requests", job="api-server", unit="ms", legend="{verb}",
            expr=slowest("apiserver_request_duration_seconds", "api-server", "verb", _QUIET),
            what="99 of 100 requests took at most this long; a watch is none",
        ),
        PanelRecord(
            title="Requests in work", job="api-server", legend="{object} {request_kind}",
            expr='sum by (object, request_kind) (apiserver_current_inflight_requests{job="api-server"})',
            what="that an API server works on at the same time",
        ),
        PanelRecord(
            title="Objects", job="api-server", legend="{resource}",
            expr=most(10, 'max by (resource) (apiserver_storage_objects{job="api-server"})'),
            what="kept in etcd; the ten most frequent kinds",
        ),
        PanelRecord(
            title="Memory of API servers", job="api-server", unit="GiB", legend="{object}",
            expr='process_resident_memory_bytes{job="api-server"} / 2^30', what="by API server",
        ),
        PanelRecord(
            title="Conditions of nodes", job="node", legend="{condition}",
            expr='sum by (condition) (kube_node_status_condition{job="node",status="true"})', alerts=("NodeNotReady",),
            what="nodes that have each: all are to be Ready, and none has another",
        ),
        PanelRecord(
            title="Nodes taken out", job="node", expr='sum(kube_node_spec_unschedulable{job="node"})', legend="nodes",
            what="that take no new pods: by an operator, or while a run works on them",
        ),
        PanelRecord(
            title="Pods of workloads", job="node", unit="%", legend="{namespace}",
            expr="100 * sum by (namespace) (kube_deployment_status_replicas_available or "
            "kube_statefulset_status_replicas_ready or kube_daemonset_status_number_available) / sum by (namespace) "
            "(kube_deployment_spec_replicas or kube_statefulset_replicas or "
            "kube_daemonset_status_desired_number_scheduled)",
            alerts=("WorkloadDown", "WorkloadShort"), what="that serve, of those that there should be",
        ),
        PanelRecord(
            title="Restarts of containers", job="node", legend="{pod} {container}",
            expr=most(10, grown("kube_pod_container_status_restarts_total", "node")),
            what="within an hour; the ten that restarted most often",
        ),
        MEMBERS,
        PanelRecord(
            title="Members with a leader", job="etcd", expr='etcd_server_has_leader{job="etcd"}', legend="{object}",
            alerts=("EtcdNoLeader",), what="1: the member has a leader",
        ),
        PanelRecord(
            title="Changes of the leader", job="etcd", legend="{object}",
            expr=grown("etcd_server_leader_changes_seen_total", "etcd"),
            what="within an hour: many tell of slow disks or a lossy network",
        ),
        PanelRecord(
            title="Slow disks of etcd", job="etcd", unit="ms", legend="{object}",
            expr=slowest("etcd_disk_wal_fsync_duration_seconds", "etcd", "object"),
            what="99 of 100 writes of the log took at most this long: above 10, look at the disk",
        ),
        PanelRecord(
            title="Slow commits of etcd", job="etcd", unit="ms", legend="{object}",
            expr=slowest("etcd_disk_backend_commit_duration_seconds", "etcd", "object"),
            what="99 of 100 commits took at most this long: above 25, look at the disk",
        ),
        PanelRecord(
            title="Size of etcd", job="etcd", unit="%", legend="{object}",
            expr='100 * etcd_mvcc_db_total_size_in_bytes{job="etcd"} / etcd_server_quota_backend_bytes{job="etcd"}',
            what="of the size at which etcd takes no more writes",
        ),
        PanelRecord(
            title="Writes that failed", job="etcd", legend="{object}",
            expr=grown("etcd_server_proposals_failed_total", "etcd"),
            what="proposals within an hour: elections, or a lost quorum",
        ),
    ),
)  # fmt: skip

EDGE = DashboardRecord(
    title="Edge", what="HAProxy of the control hosts: the Kubernetes API and the public names",
    panels=(
        SERVED,
        PanelRecord(
            title="Servers out", job="haproxy", legend="{object} {proxy}", alerts=("HaproxyServerOut",),
            expr='sum by (object, proxy) (haproxy_server_status{job="haproxy",state="DOWN"})',
            what="servers that HAProxy of a control host has taken out",
        ),
        PanelRecord(
            title="Requests to public names", job="haproxy", unit="/s", legend="{proxy}",
            expr=_public(f"sum by (proxy) ({rate('haproxy_backend_http_requests_total', 'haproxy', _OF_NAMES)})"),
            what="by type of the API in the catalog",
        ),
        PanelRecord(
            title="Failed requests to public names", job="haproxy", unit="/s", legend="{proxy}",
            expr=_public(
                f"sum by (proxy) ({rate('haproxy_backend_http_responses_total', 'haproxy', _FAILED_OF_NAMES)})"
            ),
            what="that were answered with 500 to 599",
        ),
        PanelRecord(
            title="Answers of public names", job="haproxy", unit="ms", legend="{proxy}",
            expr=_public(
                '1000 * max by (proxy) (haproxy_backend_response_time_average_seconds{job="haproxy",proxy=~"NAMES"})'
            ),
            what="average time until an answer begins, of the last 1,024 requests",
        ),
        PanelRecord(
            title="Requests that wait", job="haproxy", legend="{proxy}",
            expr='sum by (proxy) (haproxy_backend_current_queue{job="haproxy"})',
            what="for a server that has room: it has as many connections as it may have",
        ),
        PanelRecord(
            title="Connections", job="haproxy", unit="%", legend="{object} {proxy}",
            expr='100 * haproxy_frontend_current_sessions{job="haproxy"} / '
            'haproxy_frontend_limit_sessions{job="haproxy"}',
            what="of those that a frontend takes: at 100 clients wait. The control host with the address has most",
        ),
        PanelRecord(
            title="Sent to clients", job="haproxy", unit="MiB/s", legend="{proxy}",
            expr=f"sum by (proxy) ({rate('haproxy_frontend_bytes_out_total', 'haproxy')}) / 2^20", what="by frontend",
        ),
        PanelRecord(
            title="Refused", job="haproxy", unit="/s", legend="{proxy}",
            expr=f"sum by (proxy) ({rate('haproxy_frontend_requests_denied_total', 'haproxy')} + "
            f"{rate('haproxy_frontend_denied_connections_total', 'haproxy')})",
            what="requests and connections: too many of one client, or from a network that may not ask",
        ),
    ),
)  # fmt: skip

CEPH = DashboardRecord(
    title="Ceph", what="What the active manager tells of the cluster",
    panels=(
        HEALTH,
        CEPH_USED,
        PanelRecord(
            title="What Ceph complains of", job="ceph", legend="{name}",
            expr='max by (name) (ceph_health_detail{job="ceph"})', what="1: now, 0: not any more",
        ),
        PanelRecord(
            title="OSDs that are up", job="ceph", expr=f"sum({_daemons('ceph_osd_up')})", legend="OSDs",
            alerts=("CephOsdDown",), what="a step down is a lost disk or host",
        ),
        PanelRecord(
            title="Monitors in the quorum", job="ceph", expr=f"sum({_daemons('ceph_mon_quorum_status')})",
            legend="monitors", alerts=("CephMonitorDown",), what="without most of them nothing in Ceph answers",
        ),
        PanelRecord(
            title="Managers", job="ceph", expr=f"count({_daemons('ceph_mgr_status')})", legend="managers",
            alerts=("CephManagerDown",), what="the active one, and those that stand by",
        ),
        PanelRecord(
            title="Data that lacks a copy", job="ceph", legend="objects",
            expr='max(ceph_num_objects_degraded{job="ceph"})', what="copies of objects that are to be made again",
        ),
        PanelRecord(
            title="Placement groups that are not clean", job="ceph", legend="groups",
            expr='sum(max by (pool_id) (ceph_pg_total{job="ceph"})) - '
            'sum(max by (pool_id) (ceph_pg_clean{job="ceph"}))',
            what="they lack a copy, move or are checked; above 0 for long: look at its health",
        ),
        PanelRecord(
            title="Recovery", job="ceph", unit="MiB/s", legend="{name}",
            expr=_named('ceph_pool_recovering_bytes_per_sec{job="ceph"} / 2^20'), what="copies being made, by pool",
        ),
        PanelRecord(
            title="Slow OSDs", job="ceph", unit="ms", legend="{ceph_daemon}",
            expr=most(10, _daemons("ceph_osd_commit_latency_ms")), what="time of a commit; the ten slowest",
        ),
        PanelRecord(
            title="Pools", job="ceph", unit="GiB", legend="{name}",
            expr=_named('ceph_pool_stored{job="ceph"} / 2^30'), what="data in each pool, without its copies",
        ),
        PanelRecord(
            title="Reads and writes", job="ceph", unit="/s", legend="{name}",
            expr=_named(f"({rate('ceph_pool_rd', 'ceph')} + {rate('ceph_pool_wr', 'ceph')})"),
            what="operations of clients, by pool",
        ),
        PanelRecord(
            title="Read and written", job="ceph", unit="MiB/s", legend="{name}",
            expr=_named(f"({rate('ceph_pool_rd_bytes', 'ceph')} + {rate('ceph_pool_wr_bytes', 'ceph')}) / 2^20"),
            what="by clients, by pool",
        ),
    ),
)  # fmt: skip
