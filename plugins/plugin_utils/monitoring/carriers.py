"""Alerts of what carries the cloud and has no exporter: each host's own program tells of it (`host_metrics`)."""

from __future__ import annotations

from ..plan.types import Plan
from .record import AlertRecord, named

LAST_RUN = "groundup_host_metrics_last_run_timestamp_seconds"
_LEADER = "ovn_db_cluster_has_leader"
_ACTIVE = "max(ovn_northd_status == bool 1)"
_WRITTEN = "max(ovn_southbound_nb_cfg offset 1m)"
AGENTS = "max by (chassis) (neutron_ovn_agent_nb_cfg)"


def _told_late(plan: Plan) -> str:
    interval = plan.monitoring.interval if plan.monitoring else 0
    told = f'up{{job="node"}} == 1 unless on (object) {LAST_RUN} > time() - {120 + 2 * interval}'
    # Pods are asked for at the container runtime: of one that is silent, NodeNotReady tells.
    return f"{told} unless on (object) container_runtime_up == 0"


CARRIERS: dict[str, AlertRecord] = {
    "HostMetricsOld": AlertRecord(
        layer="host", job="node", severity="warning", after="1m",
        expr=_told_late,
        what="{object} has told nothing for two minutes of OVN, Open vSwitch, libvirt and services that run on it",
        why="the alerts of what it runs stay as they are",
        remedy="on the host: journalctl -n 50 -u groundup-host-metrics; run groundup.cloud.monitoring",
    ),
    "OvnNoLeader": AlertRecord(
        layer="network", job="node", severity="critical",
        expr=named(f"max by (db_name) ({_LEADER}) == 0", "db_name"),
        what="no member of {object} that was asked has a leader",
        why="Neutron can change no network, and hypervisors hear of no change; what is there goes on",
        remedy="start control hosts that are down; groundup.cloud.status names them; with most members lost for good, "
        "restore (docs/backup.md)",
    ),
    "OvnMemberOut": AlertRecord(
        layer="network", job="node", severity="warning",
        expr=f"{_LEADER} == 0 and on (db_name) max by (db_name) ({_LEADER}) == 1",
        what="the member of {db_name} on {object} does not answer, or is out of its cluster",
        why="one more lost member may cost the leader, and then no network can be changed",
        remedy="run groundup.cloud.network, which brings it back or says why not; groundup.cloud.status names its host",
    ),
    "OvnNorthdIdle": AlertRecord(
        layer="network", job="node", severity="critical", object="ovn-northd",
        expr=f"{_ACTIVE} == 0",
        what="no ovn-northd that was asked is active",
        why="what Neutron changes reaches no hypervisor: new ports get no network; what is there goes on",
        remedy="on the control hosts: journalctl -n 50 -u ovn-northd; systemctl restart ovn-northd where it hangs; "
        "groundup.cloud.network starts one that has ended, or says why it must not run",
    ),
    "OvnNorthdOut": AlertRecord(
        layer="network", job="node", severity="warning",
        expr=f"ovn_northd_status == -1 and on () {_ACTIVE} == 1",
        what="ovn-northd of {object} has ended, or does not answer",
        why="it cannot take over; without any, what Neutron changes reaches no hypervisor",
        remedy="on it: journalctl -n 50 -u ovn-northd; systemctl restart ovn-northd",
    ),
    "ChassisLag": AlertRecord(
        layer="hypervisor", job="node", severity="warning", after="1m",
        # Less than what the southbound database had a minute ago: each is behind for a moment.
        expr=named(f"max by (chassis) (ovn_chassis_nb_cfg) < on () group_left () {_WRITTEN}", "chassis"),
        what="{object} has not applied networks of more than a minute ago",
        why="new ports and changed rules do not work there",
        remedy="on it: ovn-appctl -t ovn-controller connection-status, and top: one that calculates without end; of a "
        "host that is gone for good: openstack network agent delete",
    ),
    "OvnAgentSilent": AlertRecord(
        layer="hypervisor", job="node", severity="warning", after="1m",
        expr=named(f"{AGENTS} < on () group_left () {_WRITTEN}", "chassis"),
        what="Neutron's OVN agent of {object} did not answer when Neutron asked for its agents last",
        why="instances that start there get no metadata: no name, no keys",
        remedy="on it: journalctl -n 50 -u neutron-ovn-agent; of a host that is gone for good: openstack network agent "
        "delete",
    ),
    "ChassisCut": AlertRecord(
        layer="hypervisor", job="node", severity="warning",
        expr="ovn_controller_southbound_database_connected == 0",
        what="ovn-controller of {object} does not run, or does not reach OVN's southbound database",
        why="its guests keep the networks that they have; new ports and changed rules do not work there",
        remedy="run groundup.cloud.hypervisor --tags verify: it says why each member of the database is not reached",
    ),
    "SwitchStuck": AlertRecord(
        layer="hypervisor", job="node", severity="critical",
        expr="ovs_up == 0 or ovs_cur_cfg < ovs_next_cfg",
        what="Open vSwitch of {object} does not answer, or does not apply what is in its database",
        why="guests there get no network, or lose it",
        remedy="on the host: journalctl -n 50 -u ovs-vswitchd -u ovsdb-server",
    ),
    "LibvirtSilent": AlertRecord(
        layer="hypervisor", job="node", severity="critical",
        expr="libvirt_up == 0",
        what="libvirt of {object} does not answer",
        why="Nova can start, stop and move no instance there; those that run go on",
        remedy="on the host: journalctl -n 50 -u libvirtd; systemctl restart libvirtd leaves instances as they are",
    ),
}  # fmt: skip
