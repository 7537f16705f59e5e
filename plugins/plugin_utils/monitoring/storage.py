"""Alerts of Ceph: by the active manager's word, and by each host's own program, which tells when managers are dead."""

from __future__ import annotations

from ..plan.types import Plan
from .record import AlertRecord, named, of_lost_hosts

_OSDS = 'max by (ceph_daemon, hostname) (ceph_osd_metadata{job="ceph"})'
_MANAGERS = 'max by (ceph_daemon) (ceph_mgr_status{job="ceph"})'  # the active one, and those that stand by


def _at_fault(expr: str, *, on_lost_hosts: str) -> str:
    """Return the daemons of ``expr`` as objects."""
    return named(f"({expr}) unless on (ceph_daemon) {on_lost_hosts}", "ceph_daemon")


def _zero(metric: str, only: str = 'job="ceph"') -> str:
    return f"max by (ceph_daemon) ({metric}{{{only}}}) == 0"


def _silent(kind: str) -> str:
    return _zero("ceph_daemon_socket_up", f'job="node",ceph_daemon=~"{kind}[.].+"')


def _lost_managers(plan: Plan) -> str:
    # One that stands by is no target of its own: the active one tells of it, and while none is, the hosts.
    names = plan.ceph.managers if plan.ceph else ()
    each = " or ".join(f'label_replace(vector(1), "ceph_daemon", "mgr.{name}", "", "")' for name in names)
    away = f"({each}) unless on (ceph_daemon) {_MANAGERS} and on () count({_MANAGERS})"
    lost = of_lost_hosts("ceph_daemon", "mgr.$1")
    return _at_fault(f"{away} or {_silent('mgr')}", on_lost_hosts=lost) if each else ""


STORAGE_ALERTS: dict[str, AlertRecord] = {
    "CephMonitorDown": AlertRecord(
        layer="storage", job="ceph", severity="critical",
        expr=_at_fault(
            f"{_zero('ceph_mon_quorum_status')} or {_silent('mon')}",
            on_lost_hosts=of_lost_hosts("ceph_daemon", "mon.$1"),
        ),
        what="{object} does not answer, or is not in the quorum of Ceph's monitors",
        why="one more lost monitor may stop all volumes, images and disks in Ceph",
        remedy="start it: systemctl status ceph-mon@HOST on its host; look at the host's clock",
    ),
    "CephOsdDown": AlertRecord(
        layer="storage", job="ceph", severity="warning",
        expr=_at_fault(
            _zero("ceph_osd_up"), on_lost_hosts=f"({_OSDS} and on (hostname) {of_lost_hosts('hostname')})"
        ),
        what="{object} is down",
        why="its data has one copy less until it is back, or until Ceph has copied it elsewhere",
        remedy="ceph osd find names its host; a broken disk: groundup.cloud.storage_replace",
    ),
    "CephManagerDown": AlertRecord(
        layer="storage", job="ceph", severity="warning",
        expr=_lost_managers,
        what="{object} does not answer, or does not stand by",
        why="with the last one, Ceph's metrics, its balancer and volume commands stop; data are served on",
        remedy="ceph mgr dump names those that are there; on the other's host: systemctl status ceph-mgr@HOST",
    ),
    "CephError": AlertRecord(
        layer="storage", job="ceph", severity="critical", object="ceph",
        expr='max(ceph_health_status{job="ceph"}) == 2',
        what="Ceph says HEALTH_ERR",
        why="data is unavailable or in danger",
        remedy="ceph health detail names what; full OSDs come first",
    ),
}  # fmt: skip
