"""What a host's program tells of the real MariaDB, RabbitMQ and Memcached, each with a network of its own."""

from __future__ import annotations

import base64
import http.client
import json
import os
import re
import subprocess
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base import bundle
from ansible_collections.groundup.cloud.plugins.module_utils._monitoring import host_timer
from ansible_collections.groundup.cloud.plugins.module_utils._monitoring.host_metrics import pods, services
from ansible_collections.groundup.cloud.plugins.module_utils._monitoring.host_metrics import program as host_program
from ansible_collections.groundup.cloud.plugins.module_utils._monitoring.host_metrics.samples import Sample, text
from ansible_collections.groundup.cloud.tests.e2e.waiting import until
from ansible_collections.groundup.cloud.tests.integration.images.conftest import Image

NAME = f"pod-of-a-test-{os.getpid()}"  # this machine may have pods of others
USER = 999
_MARIADB = """
mariadb-install-db --no-defaults --datadir=/var/lib/mysql --skip-test-db --auth-root-authentication-method=normal
exec mariadbd --no-defaults --datadir=/var/lib/mysql --socket=/run/mysqld/mysqld.sock --bind-address=127.0.0.1 \
  --wsrep-on=ON --wsrep-provider=/usr/lib/galera/libgalera_smm.so --binlog-format=ROW \
  --innodb-autoinc-lock-mode=2 --innodb-buffer-pool-size=32M --wsrep-cluster-address=gcomm:// --wsrep-new-cluster \
  --wsrep-node-address=127.0.0.1 --max-connections=77
"""
_NOVA = """
CREATE DATABASE nova;
CREATE TABLE nova.services (id INT PRIMARY KEY, host TEXT, `binary` TEXT, disabled BOOL, forced_down BOOL, deleted INT,
  created_at DATETIME, updated_at DATETIME);
INSERT INTO nova.services VALUES
  (1, 'h1', 'nova-compute', 0, 0, 0, UTC_TIMESTAMP() - INTERVAL 9 DAY, UTC_TIMESTAMP()),
  (2, 'h2', 'nova-compute', 0, 0, 0, UTC_TIMESTAMP() - INTERVAL 9 DAY, UTC_TIMESTAMP() - INTERVAL 2 MINUTE),
  (3, 'h3', 'nova-compute', 1, 1, 0, UTC_TIMESTAMP() - INTERVAL 9 DAY, UTC_TIMESTAMP()),
  (4, 'h4', 'nova-compute', 0, 0, 4, UTC_TIMESTAMP() - INTERVAL 9 DAY, NULL),
  (5, 'h1', 'nova-scheduler', 0, 0, 0, UTC_TIMESTAMP(), NULL);
"""


@pytest.fixture(autouse=True)
def own_pods(monkeypatch: pytest.MonkeyPatch) -> None:
    every = pods.running
    monkeypatch.setattr(pods, "running", lambda program: [one for one in every(program) if one.name == NAME])


@contextmanager
def pod(image: Image, *argv: str, mounts: dict[str, Path] | None = None, **env: str) -> Iterator[None]:
    """Have ``argv`` run in the image, as a pod with the test's name, until the end."""
    (image.root / "etc/hostname").write_text(f"{NAME}\n")
    command = image.command(argv, uid=USER, mounts=mounts)
    log = (image.root.parent / "pod.log").open("wb")
    process = subprocess.Popen(command, env={**image.env, **env}, stdout=log, stderr=log)
    try:
        yield
    finally:
        process.kill()
        process.wait()


def told(part: Callable[[], Iterable[Sample]]) -> dict[str, str]:
    """Return what ``part`` tells of the pod, without its name."""
    lines = text(part()).replace(f'{{pod="{NAME}"}}', "").replace(f'pod="{NAME}",', "").splitlines()
    return dict(line.rsplit(" ", 1) for line in lines)


def _as_the_unit(expression: str, pod: pods.Pod, *, place: Path) -> str:
    """Return what the program gets from ``pod`` with the unit's own privileges and Debian's Python."""
    program = place / "host-metrics.pyz"
    program.write_bytes(bundle.program(host_program))
    (may,) = re.findall(r"^CapabilityBoundingSet=(.+)$", host_timer.SERVICE, re.MULTILINE)
    bounds = ",".join(f"+{one.removeprefix('CAP_').lower()}" for one in may.split())
    code = f"""
import sys; sys.path.insert(0, {str(program)!r})
from groundup._monitoring.host_metrics import pods, services
pod = pods.Pod(*{tuple(pod)!r}); print({expression})
"""
    limited = ("setpriv", "--no-new-privs", f"--bounding-set=-all,{bounds}", "--inh-caps=-all")
    argv = (*limited, "/usr/bin/python3", "-I", "-S", "-c", code)
    return subprocess.run(argv, capture_output=True, text=True, check=True, timeout=60).stdout.strip()


def _own(path: Path) -> Path:
    path.mkdir()
    os.chown(path, USER, USER)
    return path


def test_a_member_of_galera_tells_its_state_and_one_of_them_novas_hypervisors(
    image: Callable[[str], Image], tmp_path: Path
) -> None:
    tmp_path.chmod(0o755)
    etc = _own(tmp_path / "etc")
    (etc / "admin_user.cnf").write_text("[client]\nuser = root\nhost = localhost\n")
    (etc / "admin_user.cnf").chmod(0o440)
    os.chown(etc / "admin_user.cnf", 0, USER)
    mounts = {"/var/lib/mysql": _own(tmp_path / "data"), "/run/mysqld": _own(tmp_path / "run"), "/etc/mysql": etc}
    with pod(image("mariadb"), "bash", "-c", _MARIADB, mounts=mounts, HOME="/tmp"):  # noqa: S108  # in the image
        assert told(services.mariadb) in ({}, {"mysql_up": "0"})
        until(lambda: told(services.mariadb).get("mysql_global_status_wsrep_local_state") == "4", seconds=600)
        found = told(services.mariadb)
        expected = {"cluster_size": "1", "cluster_status": "1", "ready": "1", "local_index": "0"}
        assert {name: found[f"mysql_global_status_wsrep_{name}"] for name in expected} == expected
        assert (found["mysql_up"], found["mysql_global_variables_max_connections"]) == ("1", "77")
        (here,) = pods.running("mariadbd")
        assert _as_the_unit("services._rows(pod, 'SELECT 7')", here, place=tmp_path) == "[['7']]"
        services._rows(here, _NOVA)
        agents = {name: value for name, value in told(services.mariadb).items() if name.startswith("openstack")}
        assert agents == {
            f'openstack_nova_agent_state{{hostname="{host}",service="nova-compute",adminState="{state}"}}': alive
            for host, state, alive in (("h1", "enabled", "1"), ("h2", "enabled", "0"), ("h3", "disabled", "0"))
        }
        here_first = here.root.joinpath("run/mysqld/mysqld.sock")
        here_first.rename(here_first.with_name("away"))
        assert told(services.mariadb) == {"mysql_up": "0"}


def _manage(method: str, path: str, body: Mapping[str, object]) -> None:
    """Have RabbitMQ's management do something."""
    (here,) = pods.running("beam.smp")
    client = http.client.HTTPConnection("localhost")
    with pods.connected(here, 15672) as client.sock:
        login = base64.b64encode(b"guest:guest").decode()
        client.request(method, f"/api/{path}", json.dumps(body), {"Authorization": f"Basic {login}"})
        assert client.getresponse().status < http.client.MULTIPLE_CHOICES


def test_a_member_of_rabbitmq_tells_alarms_peers_and_deep_queues(
    image: Callable[[str], Image], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tmp_path.chmod(0o755)
    etc = _own(tmp_path / "etc")
    (etc / "enabled_plugins").write_text("[rabbitmq_management,rabbitmq_prometheus].")
    (etc / "rabbitmq.conf").write_text("listeners.tcp.1 = 127.0.0.1:5672\n")
    mounts = {"/var/lib/rabbitmq": _own(tmp_path / "data"), "/etc/rabbitmq": etc}
    env = {"HOME": "/var/lib/rabbitmq", "RABBITMQ_NODENAME": "rabbit@localhost"}
    with pod(image("rabbitmq"), "rabbitmq-server", mounts=mounts, **env):
        until(lambda: told(services.rabbitmq).get("rabbitmq_up") == "1", seconds=600)
        found = told(services.rabbitmq)
        assert (
            found["rabbitmq_alarms_free_disk_space_watermark"] == found["rabbitmq_alarms_memory_used_watermark"] == "0"
        )
        assert found["rabbitmq_unreachable_cluster_peers_count"] == found["rabbitmq_queue_messages_ready"] == "0"
        assert set(found) == {"rabbitmq_up", *services._QUEUE}
        (here,) = pods.running("beam.smp")
        assert _as_the_unit("len(services._told(pod, '/metrics')) > 100", here, place=tmp_path) == "True"
        monkeypatch.setattr(services, "DEEP", 2)
        for queue, depth in (('the "deep" one', 2), ("shallow", 1)):
            _manage("PUT", f"queues/%2F/{queue}".replace(" ", "%20").replace('"', "%22"), {})
            message = {"properties": {}, "routing_key": queue, "payload": "x", "payload_encoding": "string"}
            for _ in range(depth):
                _manage("POST", "exchanges/%2F/amq.default/publish", message)
        series = 'rabbitmq_detailed_queue_messages_ready{vhost="/",queue="the \\"deep\\" one"}'
        until(lambda: told(services.rabbitmq).get(series) == "2", seconds=300)
        assert [name for name in told(services.rabbitmq) if "detailed" in name] == [series]


def test_memcached_tells_its_memory_and_who_is_connected(image: Callable[[str], Image]) -> None:
    with pod(image("memcached"), "memcached", "-U0", "-p11211", "-m7", "-c100"):
        until(lambda: told(services.memcached).get("memcached_up") == "1", seconds=300)
        found = told(services.memcached)
        assert (found["memcached_limit_bytes"], found["memcached_max_connections"]) == (str(7 << 20), "100")
        assert found['memcached_commands_total{command="get",status="miss"}'] == "0"
