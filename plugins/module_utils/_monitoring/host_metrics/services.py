"""What members of MariaDB, RabbitMQ and Memcached here tell, under the names of their usual exporters.

MariaDB's tell of the cloud's services, too, as openstack-exporter does: what is in their databases.

Of what a pod says, known names, known labels and numbers are passed on, each once: it cannot spoil what others tell.
"""

from __future__ import annotations

import heapq
import re
from collections.abc import Iterator
from itertools import islice

from . import pods
from .pods import Pod
from .samples import Sample

DATABASE_METRICS, QUEUE_METRICS, CACHE = 9104, 15692, 11211  # ports
DEEP, DEEPEST = 1000, 20  # messages: only queues with as many are told one by one, and no more queues than that
_DATABASE = re.compile(
    "mysql_(up|global_status_[a-z_]+|global_variables_max_connections)"
    "|openstack_(cinder|neutron|nova)_agent_state|groundup_cloud_objects"
)
_LONGEST = 255  # characters of a label: AMQP's own bound of a name
_MOST = 50  # series that one pod may tell of itself
_MOST_OF_CLOUD = 5000  # services on hypervisors are many
_QUEUE = re.compile(
    "rabbitmq_(identity_info|alarms_(file_descriptor_limit|free_disk_space_watermark|memory_used_watermark)|queues"
    "|unreachable_cluster_peers_count|queue_messages_(ready|unacked)|connections|consumers|disk_space_available_bytes"
    "|process_resident_memory_bytes|global_messages_unroutable_(dropped|returned)_total)"
)
_DEPTH = re.compile("rabbitmq_detailed_queue_messages_ready")
_CACHE = {
    "uptime": "uptime_seconds", "bytes": "current_bytes", "limit_maxbytes": "limit_bytes",
    "curr_items": "current_items", "evictions": "items_evicted_total", "curr_connections": "current_connections",
    "max_connections": "max_connections",
}  # fmt: skip
_SERIES = re.compile(r"^(\w+)(?:\{(.*)\})? (-?\d+(?:\.\d+)?(?:e[-+]?\d+)?)$", re.MULTILINE | re.ASCII)
_LABEL = re.compile(r'(?<![^,])(adminState|hostname|kind|protocol|queue|service|state|vhost)="((?:[^"\\]|\\.)*)"')


def members(namespace: str) -> Iterator[Sample]:
    """Yield what the members on this host tell; one that is silent tells nothing, but of Memcached that it is."""
    for pod in pods.running(namespace, _PARTS):
        told: dict[tuple[str, tuple[tuple[str, str], ...]], float] = {}
        try:
            for name, value, labels in _PARTS[pod.workload](pod):
                told[name, tuple(sorted(labels.items()))] = value
        except (OSError, KeyError, ValueError):
            told = {("memcached_up", ()): 0} if pod.workload == _MEMCACHED else {}
        for (name, more), value in told.items():
            yield Sample(name, value, {**dict(more), "pod": pod.name})


def _mariadb(pod: Pod) -> Iterator[Sample]:
    return islice(_told(pods.fetch(pod, DATABASE_METRICS, "/metrics"), _DATABASE), _MOST_OF_CLOUD)


def _rabbitmq(pod: Pod) -> Iterator[Sample]:
    found = list(islice(_told(pods.fetch(pod, QUEUE_METRICS, "/metrics"), _QUEUE), _MOST))
    yield from found
    if any(one.name == "rabbitmq_queue_messages_ready" and one.value >= DEEP for one in found):
        each = _told(pods.fetch(pod, QUEUE_METRICS, "/metrics/detailed?family=queue_coarse_metrics"), _DEPTH)
        yield from heapq.nlargest(DEEPEST, (one for one in each if one.value >= DEEP), key=lambda one: one.value)


def _told(said: str, names: re.Pattern[str]) -> Iterator[Sample]:
    for name, inside, value in (found.groups("") for found in _SERIES.finditer(said)):
        if names.fullmatch(name):
            labels = {key: re.sub(r"\\(.)", r"\1", word)[:_LONGEST] for key, word in _LABEL.findall(inside)}
            yield Sample(name, float(value), labels)


def _memcached(pod: Pod) -> Iterator[Sample]:
    found = dict(re.findall(r"^STAT (\w+) (\d+)\r$", pods.ask(pod, CACHE, b"stats\r\nquit\r\n"), re.MULTILINE))
    yield Sample("memcached_up", 1)
    yield from (Sample(f"memcached_{name}", float(found[key])) for key, name in _CACHE.items())
    for status, key in (("hit", "get_hits"), ("miss", "get_misses")):
        yield Sample("memcached_commands_total", float(found[key]), {"command": "get", "status": status})


_MEMCACHED = "memcached-memcached"
_PARTS = {"mariadb-server": _mariadb, "rabbitmq-rabbitmq": _rabbitmq, _MEMCACHED: _memcached}  # by StatefulSet
