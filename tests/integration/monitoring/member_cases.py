"""Cases of alerts of members in pods, as in `cases`; in MEMBERS_ALONE, each with series of its own."""

from __future__ import annotations

from .cases import ALIVE, Case, Series


def _galera(number: str, state: str, primary: str) -> Series:
    labels = f'{{object="control-1",pod="mariadb-server-{number}"}}'
    names = {"local_state": state, "cluster_status": primary}
    return {f"mysql_global_status_wsrep_{name}{labels}": values for name, values in names.items()}


def _held(number: str, sent: str, paused: str) -> Series:
    labels = f'{{object="control-1",pod="mariadb-server-{number}"}}'
    return {
        f"mysql_global_status_wsrep_flow_control_{name}{labels}": values
        for name, values in (("sent", sent), ("paused_ns", paused))
    }


def _queue(name: str, number: str, values: str) -> Series:
    return {f'rabbitmq_{name}{{object="control-1",pod="rabbitmq-rabbitmq-{number}"}}': values}


def _three(second: str) -> Series:
    return {series: values for number, each in (("0", "1x30"), ("1", second), ("2", "1x30"))
            for series, values in _queue("identity_info", number, each).items()}  # fmt: skip


def _cache(name: str, number: str, values: str) -> Series:
    return {f'memcached_{name}{{object="control-1",pod="memcached-memcached-{number}"}}': values}


_UP = 'mysql_up{object="control-1",pod="mariadb-server-0"}'
_DEEP = (
    'rabbitmq_detailed_queue_messages_ready{object="control-1",pod="rabbitmq-rabbitmq-0",vhost="/nova",'
    'queue="notifications.info"}'
)
MEMBERS = (
    Case(
        alert="GaleraMemberOut", layer="openstack",
        fires=_galera("0", "4x30", "1x30") | _galera("1", "4 2x30", "1x30"),  # the third has no pod
        quiet=_galera("0", "4x30", "1x30") | _galera("1", "4x30", "1x30") | _galera("2", "4x30", "1x30"),
        labels={"object": "mariadb-server-1"},
    ),
    Case(alert="GaleraMemberOut", layer="openstack", fires={}, quiet={}, labels={"object": "mariadb-server-2"}),
    Case(
        alert="GaleraMemberSlow", layer="openstack", fires=_held("0", "0x30", "0+60000000000x30")
        | _held("1", "0+9x30", "0+60000000000x30"),
        quiet=_held("0", "0x30", "0+1000000000x30") | _held("1", "0+9x30", "0+1000000000x30"),
        labels={"object": "mariadb-server-1", "pod": "mariadb-server-1"},
    ),
    Case(
        alert="RabbitmqMemberOut", layer="openstack", fires=_queue("identity_info", "0", "1x30"),
        quiet=_queue("identity_info", "0", "1x30") | _queue("identity_info", "1", "1x30")
        | _queue("identity_info", "2", "1x30"),
        labels={"object": "rabbitmq-rabbitmq-1"},
    ),
    Case(alert="RabbitmqMemberOut", layer="openstack", fires={}, quiet={}, labels={"object": "rabbitmq-rabbitmq-2"}),
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
            alert="MemcachedOut", layer="openstack", fires=_cache("up", number, "0x30"),
            quiet=_cache("up", number, "1x30"), labels={"object": f"memcached-memcached-{number}"},
        )
        for number in "012"
    ),
    Case(
        alert="MemcachedEvicts", layer="openstack", fires=_cache("items_evicted_total", "1", "0+60x30"),
        quiet=_cache("items_evicted_total", "1", "60x30"),
        labels={"object": "memcached-memcached-1", "pod": "memcached-memcached-1"},
    ),
)  # fmt: skip
MEMBERS_ALONE = (
    Case(  # of one that went with its host, HostDown tells
        alert="RabbitmqMemberOut", layer="openstack",
        fires=_three("1 _x30") | ALIVE, quiet=_three("1 _x30"),
        labels={"object": "rabbitmq-rabbitmq-1"},
    ),
    Case(
        alert="GaleraNoQuorum", layer="openstack", fires=_galera("0", "0x30", "0x30"),
        quiet=_galera("0", "0x30", "0x30") | _galera("1", "4x30", "1x30"), labels={"object": "galera"},
    ),
    *(
        Case(
            alert="GaleraNoQuorum", layer="openstack", fires={_UP: told} | ALIVE, quiet=quiet,
            labels={"object": "galera"},
        )
        for told in ("0x30", "1 _x30")
        for quiet in (ALIVE, {_UP: told})  # nobody has told of one yet, or its host tells nothing now
    ),
    Case(  # one that a member which is down leaves behind is no partition
        alert="RabbitmqPartition", layer="openstack",
        fires=_three("1x30") | _queue("unreachable_cluster_peers_count", "2", "0 2x30"),
        quiet=_three("1 _x30") | _queue("unreachable_cluster_peers_count", "2", "0 1x30"),
        labels={"object": "rabbitmq-rabbitmq-2", "pod": "rabbitmq-rabbitmq-2"},
    ),
)  # fmt: skip
