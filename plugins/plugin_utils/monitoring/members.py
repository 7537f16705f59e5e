"""Alerts of members of MariaDB, RabbitMQ and Memcached, of the built-in charts: hosts ask those in their pods."""

from __future__ import annotations

from collections.abc import Callable

from ...module_utils._monitoring.host_metrics.services import DEEP
from ..plan.types import Plan
from ..services.sizes import sizes
from .carriers import LAST_RUN
from .record import AlertRecord, named

_STATUS = "mysql_global_status_wsrep"


def _unasked(told: str, span: str) -> str:
    """Return what hosts have ``told`` of members within ``span`` that tell nothing now, as one that is down."""
    return f"last_over_time({told}[{span}]) unless on (object) {LAST_RUN}"


# Until the layer openstack has run, no member tells: that is no outage.
_TOLD = f"0 * max(last_over_time(mysql_up[1d])) unless on () ({_unasked('mysql_up', '1d')})"
_PRIMARY = f"(max({_STATUS}_cluster_status) or {_TOLD})"
_IN_STEP = f"max by (pod) ({_STATUS}_local_state) == 4"
_RUNNING = "max by (pod) (rabbitmq_identity_info)"
_VERIFY = "run groundup.cloud.openstack --tags verify: a failure card names the cause"


def of(service: str, expr: Callable[[int], str]) -> Callable[[Plan], str]:
    """Return an expression of a site with the built-in chart of ``service``, by its number of members."""

    def expression(plan: Plan) -> str:
        there = plan.openstack.charts == "builtin" and any(one.name == service for one in plan.openstack.releases)
        return expr(sizes(plan).members[service]) if there else ""

    return expression


def _out(service: str, workload: str, told: str, well: str, *, unless: str = "") -> Callable[[Plan], str]:
    """Return the members of the plan that are not among ``well`` (pods): one that has no pod, too.

    Of members that a host has ``told`` of within the hour, and tells nothing now, its own alert tells (`HostDown`).
    """

    def expr(members: int) -> str:
        each = (f'label_replace(vector(1), "object", "{workload}-{number}", "", "")' for number in range(members))
        lost = f"max by (pod) ({_unasked(told, '1h')})"
        others = f"unless on (object) {named(well, 'pod')} unless on (object) {named(lost, 'pod')}"
        return f"({' or '.join(each)}) {others}{unless}"

    return of(service, expr)


def _pods(service: str, expr: str) -> Callable[[Plan], str]:
    return of(service, lambda _: named(expr, "pod"))


def _partition(members: int) -> str:
    # With a member that is down, the others rightly do not reach it.
    unreached = f"max by (pod) (rabbitmq_unreachable_cluster_peers_count) > 0 and on () count({_RUNNING}) == {members}"
    return named(unreached, "pod") if members > 1 else ""


MEMBERS: dict[str, AlertRecord] = {
    "GaleraMemberOut": AlertRecord(
        layer="openstack", job="node", severity="warning",
        expr=_out("mariadb", "mariadb-server", "mysql_up", _IN_STEP, unless=f" and on () {_PRIMARY} == 1"),
        what="{object} does not serve, or is not in step with the other members of the database",
        why="one more lost member may cost the majority, and with it every API",
        remedy="run groundup.cloud.openstack --tags verify: a failure card says what it waits for",
    ),
    "GaleraNoQuorum": AlertRecord(
        layer="openstack", job="node", severity="critical", object="galera",
        expr=of("mariadb", lambda _: f"{_PRIMARY} == 0"),
        what="no member of the database that was asked is in a primary component",
        why="every API fails; instances and their networks go on",
        remedy="kubectl logs of the pods mariadb-server-*: each says what it waits for, or why it forms no cluster and "
        "how to consent",
    ),
    "GaleraMemberSlow": AlertRecord(
        layer="openstack", job="node", severity="warning", after="5m",
        expr=_pods(
            "mariadb",
            f"max by (pod) (rate({_STATUS}_flow_control_sent[5m])) > 0 and on () "
            f"max(rate({_STATUS}_flow_control_paused_ns[5m])) > 100000000",
        ),
        what="{object} has the other members of the database wait for it, a tenth of the time or more",
        why="each write waits with them, and with it every API",
        remedy="look at disk and processors of its host: iostat -x 5, top",
    ),
    "RabbitmqMemberOut": AlertRecord(
        layer="openstack", job="node", severity="warning",
        expr=_out("rabbitmq", "rabbitmq-rabbitmq", "rabbitmq_identity_info", _RUNNING),
        what="{object} does not serve",
        why="one more lost member may stop the queue, and with it all work between services",
        remedy=_VERIFY,
    ),
    "RabbitmqPartition": AlertRecord(
        layer="openstack", job="node", severity="critical",
        expr=of("rabbitmq", _partition),
        what="{object} runs and does not reach another member of RabbitMQ that runs, too",
        why="each side goes on with its own queues: requests between services are lost",
        remedy="look at the network between their hosts; one that stays alone starts anew by itself",
    ),
    "RabbitmqAlarm": AlertRecord(
        layer="openstack", job="node", severity="critical",
        expr=_pods("rabbitmq", 'max by (pod) ({__name__=~"rabbitmq_alarms_.+"}) == 1'),
        what="{object} takes no messages: its memory, its disk or its open files are at their limit",
        why="all services that send wait",
        remedy="rabbitmq-diagnostics alarms in the pod says which; see QueueDeep for what fills it",
    ),
    "QueueDeep": AlertRecord(
        layer="openstack", job="node", severity="warning", after="5m",
        expr=of(
            "rabbitmq",
            lambda _: named(f"max by (vhost, queue) (rabbitmq_detailed_queue_messages_ready) >= {DEEP}", "queue"),
        ),
        what=f"{DEEP} messages or more wait in the queue {{object}} of {{vhost}}",
        why="nobody takes them, or too slowly: requests end by timeout, and RabbitMQ's memory fills",
        remedy="look at the pods of that service, or at the agent on the host in its name; a queue of a host that is "
        "gone: rabbitmqctl delete_queue",
    ),
    "MemcachedOut": AlertRecord(
        layer="openstack", job="node", severity="warning",
        expr=_out("memcached", "memcached-memcached", "memcached_up", "max by (pod) (memcached_up) == 1"),
        what="{object} does not serve",
        why="services that the site's overrides have remember there ask again for what they know",
        remedy=_VERIFY,
    ),
    "MemcachedEvicts": AlertRecord(
        layer="openstack", job="node", severity="warning", after="10m",
        expr=_pods("memcached", "max by (pod) (rate(memcached_items_evicted_total[5m])) > 0.1"),
        what="{object} drops items before they end, to make room",
        why="services that the site's overrides have remember there ask again for what they know",
        remedy="give it more memory: openstack.overrides.memcached.values.conf.memcached.memory, in MiB",
    ),
}  # fmt: skip
