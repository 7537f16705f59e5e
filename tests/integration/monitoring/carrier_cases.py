"""Cases of alerts on what a host's own program tells, as in `cases`; in ``ALONE``, each with series of its own."""

from __future__ import annotations

from ansible_collections.groundup.cloud.plugins.module_utils._monitoring.host_metrics.program import LAST_RUN

from .cases import BEGIN, NODES, Case, Series, lines, up


def _leader(database: str, host: str, values: str) -> Series:
    return {f'ovn_db_cluster_has_leader{{db_name="{database}",object="{host}"}}': values}


def _chassis(name: str, values: str) -> Series:
    return {f'ovn_chassis_nb_cfg{{chassis="{name}",object="control-1"}}': values}


def _galera(number: str, state: str, primary: str) -> Series:
    labels = f'{{object="control-1",pod="mariadb-server-{number}"}}'
    names = {"local_state": state, "cluster_status": primary}
    return {f"mysql_global_status_wsrep_{name}{labels}": values for name, values in names.items()}


def _queue(name: str, number: str, values: str) -> Series:
    return {f'rabbitmq_{name}{{object="control-1",pod="rabbitmq-rabbitmq-{number}"}}': values}


# Of the hosts that are up in cases of other alerts, too.
_ALIVE = {f'{LAST_RUN}{{object="{host}"}}': f"{BEGIN}+60x30" for host in ("worker-1", "storage-1")}
_SEED = up("node", "seed-1", "1x30", layer="host") | lines("seed-1")
_NETWORKS = 'ovn_southbound_nb_cfg{object="control-1"}'
_DEEP = (
    'rabbitmq_detailed_queue_messages_ready{object="control-1",pod="rabbitmq-rabbitmq-0",vhost="/nova",'
    'queue="notifications.info"}'
)
_COMPUTE = 'openstack_nova_agent_state{object="control-1",hostname="hypervisor-1",adminState="enabled"}'
_DISABLED = _COMPUTE.replace('-1",adm', '-2",adm').replace("enabled", "disabled")
_SOUTH, _NORTH = "OVN_Southbound", "OVN_Northbound"

CARRIERS = (
    Case(
        alert="HostMetricsOld", layer="host",
        fires=_ALIVE | _SEED | {f'{LAST_RUN}{{object="seed-1"}}': f"{BEGIN}x30"},
        quiet=_ALIVE | _SEED | {f'{LAST_RUN}{{object="seed-1"}}': f"{BEGIN}+60x30"},
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
    Case(
        alert="GaleraMemberOut", layer="openstack",
        fires=_galera("0", "4x30", "1x30") | _galera("1", "4 2x30", "1x30"),  # the third has no pod
        quiet=_galera("0", "4x30", "1x30") | _galera("1", "4x30", "1x30") | _galera("2", "4x30", "1x30"),
        labels={"object": "mariadb-server-1"},
    ),
    Case(
        alert="GaleraMemberOut", layer="openstack", fires={}, quiet={}, labels={"object": "mariadb-server-2"},
    ),
    Case(
        alert="RabbitmqMemberOut", layer="openstack", fires=_queue("up", "0", "1x30") | _queue("up", "1", "1 0x30"),
        quiet=_queue("up", "0", "1x30") | _queue("up", "1", "1x30") | _queue("up", "2", "1x30"),
        labels={"object": "rabbitmq-rabbitmq-1"},
    ),
    Case(
        alert="RabbitmqMemberOut", layer="openstack", fires={}, quiet={}, labels={"object": "rabbitmq-rabbitmq-2"},
    ),
    Case(
        alert="RabbitmqAlarm", layer="openstack", fires=_queue("alarms_memory_used_watermark", "1", "0 1x30"),
        quiet=_queue("alarms_memory_used_watermark", "1", "0x30"),
        labels={"object": "rabbitmq-rabbitmq-1", "pod": "rabbitmq-rabbitmq-1"},
    ),
    Case(
        alert="QueueDeep", layer="openstack", fires={_DEEP: "1000x30"}, quiet={_DEEP: "999x30"},
        labels={"object": "notifications.info", "queue": "notifications.info", "vhost": "/nova"},
    ),
    *(
        Case(
            alert="MemcachedOut", layer="openstack",
            fires={f'memcached_up{{pod="memcached-memcached-{number}"}}': "0x30"},
            quiet={f'memcached_up{{pod="memcached-memcached-{number}"}}': "1x30"},
            labels={"object": f"memcached-memcached-{number}"},
        )
        for number in range(3)
    ),
    Case(
        alert="ComputeDown", layer="hypervisor", fires={_COMPUTE: "1 0x30"} | {_DISABLED: "0x30"},
        quiet={_COMPUTE: "1x30"} | {_DISABLED: "0x30"},
        labels={"object": "hypervisor-1", "hostname": "hypervisor-1"},
    ),
)  # fmt: skip
ALONE = (
    Case(
        alert="GaleraNoQuorum", layer="openstack", fires=_galera("0", "0x30", "0x30"),
        quiet=_galera("0", "0x30", "0x30") | _galera("1", "4x30", "1x30"), labels={"object": "galera"},
    ),
    Case(alert="GaleraNoQuorum", layer="openstack", fires={"other": "1x30"}, quiet=_galera("2", "4x30", "1x30"),
         labels={"object": "galera"}),
    Case(  # one that a member which is down leaves behind is no partition
        alert="RabbitmqPartition", layer="openstack",
        fires=_queue("up", "0", "1x30") | _queue("up", "1", "1x30") | _queue("up", "2", "1x30")
        | _queue("unreachable_cluster_peers_count", "2", "0 2x30"),
        quiet=_queue("up", "0", "1x30") | _queue("up", "1", "1 0x30") | _queue("up", "2", "1x30")
        | _queue("unreachable_cluster_peers_count", "2", "0 1x30"),
        labels={"object": "rabbitmq-rabbitmq-2", "pod": "rabbitmq-rabbitmq-2"},
    ),
)  # fmt: skip
