"""What MariaDB's, RabbitMQ's and Memcached's pods on this host tell, under the names of their usual exporters."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator

from . import pods
from .pods import Pod
from .samples import Sample

_ADMIN = "etc/mysql/admin_user.cnf"
# As in the container: by its client and as its account, without a way back to the host.
_INTO = ("--mount", "--uts", "--ipc", "--net", "--pid", "--root", "--wd")
_PATH = {"PATH": "/usr/local/bin:/usr/bin:/bin"}
_STATUS = (
    "wsrep_cluster_size", "wsrep_cluster_status", "wsrep_local_state", "wsrep_local_index", "wsrep_ready",
    "wsrep_local_recv_queue", "wsrep_flow_control_paused_ns", "Threads_connected", "Threads_running", "Uptime",
)  # fmt: skip
_ASK = (
    "SHOW GLOBAL STATUS WHERE Variable_name IN ('" + "','".join(_STATUS) + "'); "
    "SHOW GLOBAL VARIABLES WHERE Variable_name = 'max_connections'"
)
_WORDS = {"Primary": 1.0, "ON": 1.0}
# Seconds: Nova's own service_down_time, which no site changes.
_COMPUTES = (
    "SELECT host, IF(disabled, 'disabled', 'enabled'), NOT forced_down AND "
    "TIMESTAMPDIFF(SECOND, COALESCE(updated_at, created_at), UTC_TIMESTAMP()) <= 60 "
    "FROM nova.services WHERE `binary` = 'nova-compute' AND deleted = 0"
)
QUEUE_METRICS, CACHE = 15692, 11211  # ports
DEEP = 1000  # messages: queues with fewer are not told one by one
_QUEUE = (
    "rabbitmq_alarms_file_descriptor_limit", "rabbitmq_alarms_free_disk_space_watermark",
    "rabbitmq_alarms_memory_used_watermark", "rabbitmq_unreachable_cluster_peers_count", "rabbitmq_queues",
    "rabbitmq_queue_messages_ready", "rabbitmq_queue_messages_unacked", "rabbitmq_connections", "rabbitmq_consumers",
    "rabbitmq_process_resident_memory_bytes", "rabbitmq_disk_space_available_bytes",
)  # fmt: skip
_CACHE = {
    "uptime": "uptime_seconds", "bytes": "current_bytes", "limit_maxbytes": "limit_bytes",
    "curr_items": "current_items", "evictions": "items_evicted_total", "curr_connections": "current_connections",
    "max_connections": "max_connections",
}  # fmt: skip
_SERIES = re.compile(r"^(\w+)(?:\{(.*)\})? (\S+)$", re.MULTILINE)
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')


def mariadb() -> Iterator[Sample]:
    """Yield the state of Galera's members here; one of all members tells of Nova's hypervisors."""
    for pod in pods.running("mariadbd"):
        labels = {"pod": pod.name}
        try:
            found = {name: _number(value) for name, value in _rows(pod, _ASK)}
        except (OSError, subprocess.SubprocessError):
            yield Sample("mysql_up", 0, labels)
            continue
        yield Sample("mysql_up", 1, labels)
        yield Sample("mysql_global_variables_max_connections", found.pop("max_connections"), labels)
        yield from (Sample(f"mysql_global_status_{name.lower()}", value, labels) for name, value in found.items())
        if found.get("wsrep_local_index") == 0:
            yield from _computes(pod)


def _computes(pod: Pod) -> Iterator[Sample]:
    try:
        rows = _rows(pod, _COMPUTES)
    except (OSError, subprocess.SubprocessError):  # no Nova
        return
    for host, state, alive in rows:
        labels = {"hostname": host, "service": "nova-compute", "adminState": state}
        yield Sample("openstack_nova_agent_state", float(alive), labels)


def _rows(pod: Pod, statement: str) -> list[list[str]]:
    """Return what the database in ``pod`` answers. Raises OSError, SubprocessError."""
    account = (pods.PROC / pod.process).stat().st_uid
    group = (pod.root / _ADMIN).stat().st_gid  # may read it
    argv = (
        "nsenter", "--target", pod.process, *_INTO, "--setuid", str(account), "--setgid", str(group), "--",
        "mariadb", f"--defaults-file=/{_ADMIN}", "--host=localhost", "--batch", "--skip-column-names",
        "--connect-timeout=5", f"--execute={statement}",
    )  # fmt: skip
    done = subprocess.run(argv, capture_output=True, text=True, timeout=2 * pods.PATIENCE, check=True, env=_PATH)
    return [line.split("\t") for line in done.stdout.splitlines()]


def _number(value: str) -> float:
    try:
        return float(value)
    except ValueError:
        return _WORDS.get(value, 0.0)


def rabbitmq() -> Iterator[Sample]:
    """Yield what RabbitMQ's members here tell of themselves, and their deep queues by name."""
    for pod in pods.running("beam.smp"):
        labels = {"pod": pod.name}
        try:
            found = {one.name: one.value for one in _told(pod, "/metrics") if one.name in _QUEUE}
            deep = found.get("rabbitmq_queue_messages_ready", 0) >= DEEP
            each = _told(pod, "/metrics/detailed?family=queue_coarse_metrics") if deep else []
        except OSError:
            yield Sample("rabbitmq_up", 0, labels)
            continue
        yield Sample("rabbitmq_up", 1, labels)
        yield from (Sample(name, value, labels) for name, value in found.items())
        yield from (
            Sample(one.name, one.value, {**labels, **one.labels})
            for one in each
            if one.name == "rabbitmq_detailed_queue_messages_ready" and one.value >= DEEP
        )


def _told(pod: Pod, path: str) -> list[Sample]:
    return [
        Sample(name, float(value), {key: re.sub(r"\\(.)", r"\1", word) for key, word in _LABEL.findall(inside)})
        for name, inside, value in _SERIES.findall(pods.fetch(pod, QUEUE_METRICS, path))
    ]


def memcached() -> Iterator[Sample]:
    """Yield what Memcached here tells."""
    for pod in pods.running("memcached"):
        labels, said = {"pod": pod.name}, b""
        try:
            with pods.connected(pod, CACHE) as connection:
                connection.sendall(b"stats\r\nquit\r\n")
                while chunk := connection.recv(1 << 16):
                    said += chunk
        except OSError:
            yield Sample("memcached_up", 0, labels)
            continue
        found = dict(re.findall(r"^STAT (\w+) (\S+)", said.decode(), re.MULTILINE))
        yield Sample("memcached_up", 1, labels)
        yield from (Sample(f"memcached_{name}", float(found[key]), labels) for key, name in _CACHE.items())
        for status, key in (("hit", "get_hits"), ("miss", "get_misses")):
            yield Sample("memcached_commands_total", float(found[key]), {**labels, "command": "get", "status": status})
