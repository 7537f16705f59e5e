"""Cases of what nobody could ask, which is not told as lost; each with series of its own, as MEMBERS_ALONE."""

from __future__ import annotations

from .cases import Case, Series, up


def _answers(values: str) -> Series:
    """Return the series that say whether the monitoring host answers."""
    return up("node", "seed-1", values, layer="host")


def _sockets(manager: str, monitor: str) -> Series:
    """Return what storage-2 says of its daemons of Ceph; no manager tells metrics."""
    daemons = {"mgr.storage-2": manager, "mon.storage-2": monitor}
    own = {
        f'ceph_daemon_socket_up{{job="node",object="storage-2",ceph_daemon="{name}"}}': values
        for name, values in daemons.items()
    }
    return own | up("ceph", "storage-1", "1 0x30", layer="storage")


def _third_of_etcd(haproxy: str) -> Series:
    """Return series of a member of etcd that tells nothing, with those of its host, which answers."""
    node = up("node", "control-3", "1x30", layer="host")
    return up("etcd", "control-3", "1 0x30") | up("haproxy", "control-3", haproxy) | node


UNKNOWN_ALONE = (
    Case(
        alert="CephManagerDown", layer="storage", fires=_sockets("1 0x30", "1x30"), quiet=_sockets("1x30", "1x30"),
        labels={"object": "mgr.storage-2", "ceph_daemon": "mgr.storage-2"},
    ),
    Case(
        alert="CephMonitorDown", layer="storage", fires=_sockets("1x30", "1 0x30"), quiet=_sockets("1x30", "1x30"),
        labels={"object": "mon.storage-2", "ceph_daemon": "mon.storage-2"},
    ),
    Case(
        alert="EtcdQuorumAtRisk", layer="kubernetes", fires=_third_of_etcd("1x30"), quiet=_third_of_etcd("1 0x30"),
        labels={"object": "etcd"},
    ),
    *(
        Case(alert=alert, layer=layer, fires=_answers("1x30"), quiet=_answers("0x30"), labels={"object": about})
        for alert, layer, about in (
            ("BinaryLogsOld", "host", "backups"),
            ("DriftOld", "monitoring", "drift"),
            ("CapacityOld", "monitoring", "capacity"),
            ("HypervisorLookOld", "monitoring", "hypervisor_failure"),
        )
    ),
    Case(  # of a host that does not answer, HostDown tells
        alert="TargetDown", layer="kubernetes",
        fires=up("etcd", "control-3", "1 0x30") | up("node", "control-3", "1x30", layer="host"),
        quiet=up("etcd", "control-3", "1 0x30") | up("node", "control-3", "1 0x30", layer="host"),
        labels={"job": "etcd", "object": "control-3"},
    ),
)  # fmt: skip
