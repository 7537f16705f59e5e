"""Alerts of what carries the cloud and has no exporter: each host's own program tells of it (`host_metrics`)."""

from __future__ import annotations

from collections.abc import Callable

from ...module_utils._monitoring.host_metrics.services import DEEP
from ..plan.types import Plan
from ..services.sizes import sizes
from .record import AlertRecord

_LAST_RUN = "groundup_host_metrics_last_run_timestamp_seconds"
_LEADER = "ovn_db_cluster_has_leader"
_PRIMARY = "(max(mysql_global_status_wsrep_cluster_status) or vector(0))"
_RUNNING = "count(max by (pod) (rabbitmq_up) == 1)"
_READY = "rabbitmq_detailed_queue_messages_ready"
_ALARMS = '{__name__=~"rabbitmq_alarms_.+"}'
_WRITTEN = "max(ovn_southbound_nb_cfg offset 1m)"


def _named(expr: str, label: str) -> str:
    """Return ``expr`` with its ``label`` as the object."""
    return f'label_replace({expr}, "object", "$1", "{label}", "(.+)")'


def _out(service: str, workload: str, well: str, *, unless: str = "") -> Callable[[Plan], str]:
    """Return the members of the plan that are not in ``well``, by their pods: one that has no pod, too."""

    def expression(plan: Plan) -> str:
        pods = [f"{workload}-{number}" for number in range(sizes(plan).members[service])]
        planned = " or ".join(f'label_replace(vector(1), "object", "{pod}", "", "")' for pod in pods)
        return f"({planned}) unless on (object) {_named(well, 'pod')}{unless}"

    return expression


def _partition(plan: Plan) -> str:
    # With a member that is down, the others rightly do not reach it.
    members, unreached = sizes(plan).members["rabbitmq"], "max by (pod) (rabbitmq_unreachable_cluster_peers_count) > 0"
    return _named(f"{unreached} and on () {_RUNNING} == {members}", "pod") if members > 1 else ""


CARRIERS: dict[str, AlertRecord] = {
    "HostMetricsOld": AlertRecord(
        layer="host", job="node", severity="warning", after="1m",
        expr=f'up{{job="node"}} == 1 unless on (object) {_LAST_RUN} > time() - 120',
        what="{object} has told nothing for two minutes of OVN, libvirt, databases and queues that run on it",
        why="the alerts of what it runs stay as they are",
        remedy="on the host: journalctl -n 50 -u groundup-host-metrics; run groundup.cloud.monitoring",
    ),
    "OvnNoLeader": AlertRecord(
        layer="network", job="node", severity="critical", after="45s",
        expr=_named(f"max by (db_name) ({_LEADER}) == 0", "db_name"),
        what="no member of {object} has a leader",
        why="Neutron can change no network, and hypervisors hear of no change; what is there goes on",
        remedy="start control hosts that are down; groundup.cloud.status names them; with most members lost for good, "
        "restore (docs/backup.md)",
    ),
    "OvnMemberOut": AlertRecord(
        layer="network", job="node", severity="warning", after="45s",
        expr=f"{_LEADER} == 0 and on (db_name) max by (db_name) ({_LEADER}) == 1",
        what="the member of {db_name} on {object} does not answer, or is out of its cluster",
        why="one more lost member may cost the leader, and then no network can be changed",
        remedy="run groundup.cloud.network, which brings it back or says why not; groundup.cloud.status names its host",
    ),
    "ChassisLag": AlertRecord(
        layer="hypervisor", job="node", severity="warning", after="1m",
        # Less than what the southbound database had a minute ago: each is behind for a moment.
        expr=_named(f"max by (chassis) (ovn_chassis_nb_cfg) < on () group_left () {_WRITTEN}", "chassis"),
        what="{object} has not applied networks of more than a minute ago",
        why="new ports and changed rules do not work there",
        remedy="on it: ovn-appctl -t ovn-controller connection-status, and top: one that calculates without end; of a "
        "host that is gone for good: openstack network agent delete",
    ),
    "ChassisCut": AlertRecord(
        layer="hypervisor", job="node", severity="warning", after="45s",
        expr="ovn_controller_southbound_database_connected == 0",
        what="ovn-controller of {object} does not run, or does not reach OVN's southbound database",
        why="its guests keep the networks that they have; new ports and changed rules do not work there",
        remedy="run groundup.cloud.hypervisor --tags verify: it says why each member of the database is not reached",
    ),
    "SwitchStuck": AlertRecord(
        layer="hypervisor", job="node", severity="critical", after="45s",
        expr="ovs_up == 0 or ovs_cur_cfg < ovs_next_cfg",
        what="Open vSwitch of {object} does not answer, or does not apply what is in its database",
        why="guests there get no network, or lose it",
        remedy="on the host: journalctl -n 50 -u ovs-vswitchd -u ovsdb-server",
    ),
    "LibvirtSilent": AlertRecord(
        layer="hypervisor", job="node", severity="critical", after="1m",
        expr="libvirt_up == 0",
        what="libvirt of {object} does not answer",
        why="Nova can start, stop and move no instance there; those that run go on",
        remedy="on the host: journalctl -n 50 -u libvirtd; systemctl restart libvirtd leaves instances as they are",
    ),
    "GaleraMemberOut": AlertRecord(
        layer="openstack", job="node", severity="warning", after="1m",
        expr=_out(
            "mariadb", "mariadb-server", "max by (pod) (mysql_global_status_wsrep_local_state) == 4",
            unless=f" and on () {_PRIMARY} == 1",
        ),
        what="{object} does not serve, or is not in step with the other members of the database",
        why="one more lost member may cost the majority, and with it every API",
        remedy="run groundup.cloud.openstack --tags verify: a failure card says what it waits for",
    ),
    "GaleraNoQuorum": AlertRecord(
        layer="openstack", job="node", severity="critical", after="45s", object="galera",
        expr=f"{_PRIMARY} == 0",
        what="no member of the database is in a primary component",
        why="every API fails; instances and their networks go on",
        remedy="kubectl logs of the pods mariadb-server-*: each says what it waits for, or why it forms no cluster and "
        "how to consent",
    ),
    "RabbitmqMemberOut": AlertRecord(
        layer="openstack", job="node", severity="warning", after="1m",
        expr=_out("rabbitmq", "rabbitmq-rabbitmq", "max by (pod) (rabbitmq_up) == 1"),
        what="{object} does not serve",
        why="one more lost member may stop the queue, and with it all work between services",
        remedy="run groundup.cloud.openstack --tags verify: a failure card names the cause",
    ),
    "RabbitmqPartition": AlertRecord(
        layer="openstack", job="node", severity="critical", after="1m",
        expr=_partition,
        what="{object} runs and does not reach another member of RabbitMQ that runs, too",
        why="each side goes on with its own queues: requests between services are lost",
        remedy="look at the network between their hosts; one that stays alone starts anew by itself",
    ),
    "RabbitmqAlarm": AlertRecord(
        layer="openstack", job="node", severity="critical", after="45s",
        expr=_named(f"max by (pod) ({_ALARMS}) == 1", "pod"),
        what="{object} takes no messages: its memory, its disk or its open files are at their limit",
        why="all services that send wait",
        remedy="rabbitmq-diagnostics alarms in the pod says which; see QueueDeep for what fills it",
    ),
    "QueueDeep": AlertRecord(
        layer="openstack", job="node", severity="warning", after="5m",
        expr=_named(f"max by (vhost, queue) ({_READY}) >= {DEEP}", "queue"),
        what="a thousand messages or more wait in the queue {object} of {vhost}",
        why="nobody takes them, or too slowly: requests end by timeout, and RabbitMQ's memory fills",
        remedy="look at the pods of that service, or at the agent on the host in its name; a queue of a host that is "
        "gone: rabbitmqctl delete_queue",
    ),
    "MemcachedOut": AlertRecord(
        layer="openstack", job="node", severity="warning", after="1m",
        expr=_out("memcached", "memcached-memcached", "max by (pod) (memcached_up) == 1"),
        what="{object} does not serve",
        why="APIs are slow: each token is asked for again",
        remedy="run groundup.cloud.openstack --tags verify: a failure card names the cause",
    ),
    "ComputeDown": AlertRecord(
        layer="hypervisor", job="node", severity="warning", after="45s",
        expr=_named('max by (hostname) (openstack_nova_agent_state{adminState="enabled"}) == 0', "hostname"),
        what="Nova has not heard nova-compute of {object} for a minute",
        why="no instance is started, moved or deleted there",
        remedy="journalctl -n 50 -u nova-compute on the host; of a host that is lost: groundup.cloud.evacuate",
    ),
}  # fmt: skip
