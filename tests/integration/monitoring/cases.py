"""For each alert: series of its site that make it fire, series that must not, and the object it must name."""

from __future__ import annotations

from dataclasses import dataclass, field

from ansible_collections.groundup.cloud.plugins.module_utils._monitoring.host_metrics.program import LAST_RUN
from ansible_collections.groundup.cloud.plugins.plugin_utils.monitoring.logs import ALL_LINES, LINES

Series = dict[str, str]  # series -> values, one a minute, as vmalert-tool and promtool write them


@dataclass(frozen=True, kw_only=True)
class Case:
    """One alert on the site `ha`, judged after 15 minutes."""

    alert: str
    layer: str
    fires: Series
    quiet: Series
    labels: dict[str, str] = field(default_factory=dict)  # of the alert, beside layer and severity


def up(job: str, host: str, values: str, *, layer: str = "kubernetes") -> Series:
    """Return the series that says whether a target answers."""
    return {f'up{{job="{job}",layer="{layer}",object="{host}"}}': values}


def rack(*values: str) -> Series:
    """Return the series that say whether storage-1, storage-2, ... answer, in their rack."""
    name = 'up{job="node",layer="host",rack="r1",object="storage-'
    return {f'{name}{number}"}}': each for number, each in enumerate(values, 1)}


def on_storage(number: int) -> Series:
    """Return what is lost with a storage host: an OSD, a monitor, a server of HAProxy."""
    host, ceph = f"storage-{number}", 'job="ceph",object="storage-3",ceph_daemon='
    return {
        f'ceph_osd_up{{{ceph}"osd.{number}"}}': "0x30",
        f'ceph_osd_metadata{{{ceph}"osd.{number}",hostname="{host}"}}': "1x30",
        f'ceph_mon_quorum_status{{{ceph}"mon.{host}"}}': "0x30",
        _SERVER.replace("worker-2", host): "1x30",
    }


def _disk(free: str) -> Series:
    """Return one file system that is mounted twice."""
    places = [
        f'job="node",object="worker-1",device="/dev/vda",mountpoint="{place}",fstype="ext4"'
        for place in ("/var/log", "/srv")
    ]
    sizes = {f"node_filesystem_size_bytes{{{labels}}}": "100x30" for labels in places}
    return sizes | {f"node_filesystem_avail_bytes{{{labels}}}": free for labels in places}


def _clock(host: str, offset: str, synchronised: str) -> Series:
    labels = f'{{job="node",object="{host}"}}'
    return {f"node_timex_offset_seconds{labels}": offset, f"node_timex_sync_status{labels}": synchronised}


def _requests(wrong: str) -> Series:
    name = 'apiserver_request_total{job="api-server",object="control-2"'
    return {f'{name},code="200"}}': "0+90x30", f'{name},code="500"}}': wrong}


def _active(proxy: str, first: str, second: str) -> Series:
    name = f'haproxy_backend_active_servers{{job="haproxy",proxy="{proxy}",object="control-'
    return {f'{name}1"}}': first, f'{name}2"}}': second}


def _manager(name: str) -> Series:
    return {f'ceph_mgr_status{{job="ceph",object="storage-1",ceph_daemon="mgr.{name}"}}': "1x30"}


def _leader(database: str, host: str, values: str) -> Series:
    return {f'ovn_db_cluster_has_leader{{db_name="{database}",object="{host}"}}': values}


def _chassis(name: str, values: str) -> Series:
    return {f'ovn_chassis_nb_cfg{{chassis="{name}",object="control-1"}}': values}


def _lines(host: str) -> Series:
    return {f'{LINES}{{host="{host}"}}': "7x30"}


def _every(store: str, values: str) -> Series:
    return {f'{ALL_LINES}{{store="{store}"}}': values}  # a real one has no label


_DISK = {"job": "node", "object": "worker-1", "device": "/dev/vda", "fstype": "ext4"}
_CERTIFICATE = 'groundup_certificate_not_after_timestamp_seconds{object="control-1",path="/etc/haproxy/tls/edge.pem"}'
_SERVER = 'haproxy_server_status{job="haproxy",object="control-1",proxy="public",server="worker-2",state="DOWN"}'
_RETRIED = 'vmagent_remotewrite_retries_count_total{job="agent",object="seed-1",url='
NODES = {"job": "node", "layer": "host"}
BEGIN, DAY = 946684800, 86400  # vmalert-tool's time begins with 2000
# Of the hosts that are up in cases of other alerts, too.
ALIVE = {f'{LAST_RUN}{{object="{host}"}}': f"{BEGIN}+60x30" for host in ("worker-1", "storage-1", "control-1")}
_SEED = up("node", "seed-1", "1x30", layer="host") | _lines("seed-1")
_NETWORKS = 'ovn_southbound_nb_cfg{object="control-1"}'
_SOUTH, _NORTH = "OVN_Southbound", "OVN_Northbound"

CASES = (
    Case(
        alert="HostDown", layer="host", fires=up("node", "worker-1", "1 0x20", layer="host"),
        quiet=up("node", "worker-1", "1x13 0 1x5", layer="host"), labels={**NODES, "object": "worker-1"},
    ),
    Case(alert="DiskFilling", layer="host", fires=_disk("9x30"), quiet=_disk("11x30"), labels=_DISK),
    Case(
        alert="ClockOff", layer="host", fires=_clock("storage-1", "-0.06x30", "1x30"),
        quiet=_clock("storage-1", "0.04x30", "1x30"), labels={"job": "node", "object": "storage-1"},
    ),
    Case(
        alert="ClockOff", layer="host", fires=_clock("storage-2", "0x30", "0x30"),
        quiet=_clock("storage-2", "0x30", "1x30"), labels={"job": "node", "object": "storage-2"},
    ),
    Case(
        alert="CertificateEnding", layer="host", fires={_CERTIFICATE: f"{BEGIN + 13 * DAY}x30"},
        quiet={_CERTIFICATE: f"{BEGIN + 15 * DAY}x30"},
        labels={"object": "control-1", "path": "/etc/haproxy/tls/edge.pem"},
    ),
    Case(  # worker-1 is up in the case of HostDown that must not fire
        alert="LogsStopped", layer="host",
        fires=up("node", "storage-1", "1x30", layer="host") | _lines("storage-3") | _every("1", "9x30"),
        quiet=up("node", "storage-1", "1x30", layer="host") | _lines("storage-1") | _lines("worker-1"),
        labels={**NODES, "object": "storage-1"},
    ),
    Case(
        alert="LogsMissing", layer="monitoring", fires=_every("2", "9 0x30"), quiet=_every("2", "1x30"),
         labels={"object": "logs", "store": "2"},
    ),
    Case(  # the own store, which is asked again while it starts, is the second
        alert="RemoteWriteFails", layer="monitoring",
        fires={f'{_RETRIED}"1:secret-url"}}': "0+5x30"},
        quiet={f'{_RETRIED}"1:secret-url"}}': "7x30", f'{_RETRIED}"2:secret-url"}}': "0+5x30"},
        labels={"job": "agent", "object": "seed-1", "url": "1:secret-url"},
    ),
    Case(
        alert="EtcdNoLeader", layer="kubernetes",
        fires={'etcd_server_has_leader{job="etcd",object="control-1"}': "1 0x30"},
        quiet={'etcd_server_has_leader{job="etcd",object="control-1"}': "1x30"},
        labels={"job": "etcd", "object": "control-1"},
    ),
    Case(
        alert="EtcdQuorumAtRisk", layer="kubernetes",
        fires=up("etcd", "control-1", "1x30") | up("etcd", "control-2", "1x30") | up("etcd", "control-3", "1 0x30"),
        quiet=up("etcd", "control-1", "1x30") | up("etcd", "control-2", "1x30") | up("etcd", "control-3", "1x30"),
        labels={"object": "etcd"},
    ),
    Case(
        alert="ApiServerErrors", layer="kubernetes", fires=_requests("0+10x30"), quiet=_requests("0+4x30"),
        labels={"object": "control-2"},
    ),
    Case(
        alert="HaproxyServerOut", layer="kubernetes", fires={_SERVER: "0 1x30"}, quiet={_SERVER: "0x30"},
        labels={"job": "haproxy", "object": "control-1", "proxy": "public", "server": "worker-2", "state": "DOWN"},
    ),
    Case(
        alert="ApiServersOut", layer="kubernetes",
        fires=_active("kubernetes", "0x30", "0x30"), quiet=_active("kubernetes", "0x30", "1x30"),
        labels={"object": "kubernetes", "proxy": "kubernetes"},
    ),
    Case(
        alert="PublicNameDown", layer="openstack",
        # HAProxy's backends that only count have no server at all.
        fires=_active("identity", "0x30", "0x30") | _active("sources", "0x30", "0x30"),
        quiet=_active("identity", "0x30", "1x30"), labels={"object": "identity", "proxy": "identity"},
    ),
    # The manager of storage-1 tells it of a daemon elsewhere.
    Case(
        alert="CephMonitorDown", layer="storage",
        fires={'ceph_mon_quorum_status{job="ceph",object="storage-1",ceph_daemon="mon.storage-3"}': "1 0x30"},
        quiet={'ceph_mon_quorum_status{job="ceph",object="storage-1",ceph_daemon="mon.storage-3"}': "1x30"},
        labels={"ceph_daemon": "mon.storage-3", "object": "mon.storage-3"},
    ),
    Case(
        alert="CephOsdDown", layer="storage",
        fires={'ceph_osd_up{job="ceph",object="storage-1",ceph_daemon="osd.2"}': "1 0x30"},
        quiet={'ceph_osd_up{job="ceph",object="storage-1",ceph_daemon="osd.2"}': "1x30"},
        labels={"ceph_daemon": "osd.2", "object": "osd.2"},
    ),
    Case(
        alert="CephError", layer="storage", fires={'ceph_health_status{job="ceph",object="storage-1"}': "0 2x30"},
        quiet={'ceph_health_status{job="ceph",object="storage-1"}': "1x30"}, labels={"object": "ceph"},
    ),
    Case(
        alert="CephManagerDown", layer="storage", fires=_manager("storage-1"),
        quiet=_manager("storage-1") | _manager("storage-2"),
        labels={"object": "mgr.storage-2", "ceph_daemon": "mgr.storage-2"},
    ),
    # Of managers, those that stand by need not answer.
    Case(
        alert="TargetDown", layer="storage",
        fires=up("ceph", "storage-1", "1 0x30", layer="storage") | up("ceph", "storage-2", "0x30", layer="storage"),
        quiet=up("ceph", "storage-1", "1x30", layer="storage") | up("ceph", "storage-2", "0x30", layer="storage"),
        labels={"object": "ceph"},
    ),
    Case(
        alert="HostMetricsOld", layer="host",
        fires=ALIVE | _SEED | {f'{LAST_RUN}{{object="seed-1"}}': f"{BEGIN}x30"},
        quiet=ALIVE | _SEED | {f'{LAST_RUN}{{object="seed-1"}}': f"{BEGIN}+60x30"},
        labels={**NODES, "object": "seed-1"},
    ),
    Case(
        alert="OvnNoLeader", layer="network",
        fires=_leader(_SOUTH, "control-1", "1 0x30") | _leader(_SOUTH, "control-2", "1 0x30"),
        quiet=_leader(_SOUTH, "control-1", "1x30") | _leader(_SOUTH, "control-2", "1x30"),
        labels={"object": _SOUTH, "db_name": _SOUTH},
    ),
    Case(
        alert="OvnMemberOut", layer="network",
        fires=_leader(_NORTH, "control-1", "1 0x30") | _leader(_NORTH, "control-2", "1x30"),
        quiet=_leader(_NORTH, "control-1", "1x30") | _leader(_NORTH, "control-2", "1x30"),
        labels={"object": "control-1", "db_name": _NORTH},
    ),
    Case(  # one that is behind for a moment, each time that it is asked
        alert="ChassisLag", layer="hypervisor",
        fires={_NETWORKS: "0+1x30"} | _chassis("hypervisor-1", "0+1x5 5x30") | _chassis("hypervisor-2", "0 0+1x30"),
        quiet={_NETWORKS: "7x30"} | _chassis("hypervisor-1", "7x30") | _chassis("hypervisor-2", "7x30"),
        labels={"object": "hypervisor-1", "chassis": "hypervisor-1"},
    ),
    Case(
        alert="ChassisCut", layer="hypervisor",
        fires={'ovn_controller_southbound_database_connected{object="hypervisor-1"}': "1 0x30"},
        quiet={'ovn_controller_southbound_database_connected{object="hypervisor-1"}': "1x30"},
        labels={"object": "hypervisor-1"},
    ),
    Case(
        alert="SwitchStuck", layer="hypervisor", fires={'ovs_up{object="hypervisor-1"}': "1 0x30"},
        quiet={'ovs_up{object="hypervisor-1"}': "1x30"}, labels={"object": "hypervisor-1"},
    ),
    Case(
        alert="SwitchStuck", layer="hypervisor",
        fires={'ovs_cur_cfg{object="hypervisor-2"}': "7x30", 'ovs_next_cfg{object="hypervisor-2"}': "7 8x30"},
        quiet={'ovs_cur_cfg{object="hypervisor-2"}': "7+1x30", 'ovs_next_cfg{object="hypervisor-2"}': "7+1x30"},
        labels={"object": "hypervisor-2"},
    ),
    Case(
        alert="LibvirtSilent", layer="hypervisor", fires={'libvirt_up{object="hypervisor-1"}': "1 0x30"},
        quiet={'libvirt_up{object="hypervisor-1"}': "1x30"}, labels={"object": "hypervisor-1"},
    ),
    Case(  # of the member that the quorum lacks, too
        alert="TargetDown", layer="kubernetes", fires=up("etcd", "control-3", "1 0x30"),
        quiet=up("etcd", "control-3", "1x30"), labels={"job": "etcd", "object": "control-3"},
    ),
)  # fmt: skip

# Of storage-1 to storage-3, the third answers.
LOST_RACK = (
    Case(alert="RackDown", layer="host", fires={}, quiet={}, labels={"object": "r1", "rack": "r1"}),
    Case(alert="CephOsdDown", layer="storage", fires={}, quiet={}, labels={"object": "osd.3", "ceph_daemon": "osd.3"}),
    Case(
        alert="CephMonitorDown", layer="storage", fires={}, quiet={},
        labels={"object": "mon.storage-3", "ceph_daemon": "mon.storage-3"},
    ),
    Case(
        alert="HaproxyServerOut", layer="kubernetes", fires={}, quiet={},
        labels={"job": "haproxy", "object": "control-1", "proxy": "public", "server": "storage-3", "state": "DOWN"},
    ),
)  # fmt: skip
ONE_OF_A_RACK = Case(
    alert="HostDown", layer="host", fires={}, quiet={}, labels={**NODES, "object": "storage-2", "rack": "r1"}
)
