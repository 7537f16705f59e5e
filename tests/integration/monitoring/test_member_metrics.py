"""What a node tells of the real MariaDB, RabbitMQ and Memcached, each asked at the address of a pod."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from ansible_collections.groundup.cloud.plugins.module_utils._monitoring.host_metrics import pods, services
from ansible_collections.groundup.cloud.plugins.module_utils._monitoring.host_metrics.program import LAST_RUN
from ansible_collections.groundup.cloud.tests.e2e.waiting import until
from ansible_collections.groundup.cloud.tests.integration.images.conftest import Image
from ansible_collections.groundup.cloud.tests.unit.charts.conftest import CHARTS

from .told import Told

ADDRESS = "10.90.0.41"  # of the host that stands for the pod's network, too
USER = 999
_MARIADB = """
mariadb-install-db --no-defaults --datadir=/var/lib/mysql --skip-test-db --auth-root-authentication-method=normal
echo "CREATE USER 'audit'@'%' IDENTIFIED BY 'word';" > /tmp/accounts
exec mariadbd --no-defaults --datadir=/var/lib/mysql --socket=/run/mysqld/mysqld.sock --init-file=/tmp/accounts \
  --wsrep-on=ON --wsrep-provider=/usr/lib/galera/libgalera_smm.so --binlog-format=ROW --skip-name-resolve \
  --innodb-autoinc-lock-mode=2 --innodb-buffer-pool-size=32M --wsrep-cluster-address=gcomm:// --wsrep-new-cluster \
  --wsrep-node-address=127.0.0.1 --max-connections=77
"""
_FILL = """
import base64, http.client, json, sys, urllib.parse
queue, depth = sys.argv[1], int(sys.argv[2])
client = http.client.HTTPConnection("127.0.0.1", 15672)
login = {"Authorization": "Basic " + base64.b64encode(b"guest:guest").decode()}
def manage(method, path, body):
    client.request(method, f"/api/{path}", json.dumps(body), login)
    answer = client.getresponse()
    assert answer.status < 300, answer.read()
    answer.read()
manage("PUT", "queues/%2F/" + urllib.parse.quote(queue), {})
message = {"properties": {}, "routing_key": queue, "payload": "x", "payload_encoding": "string"}
for _ in range(depth):
    manage("POST", "exchanges/%2F/amq.default/publish", message)
"""


@contextmanager
def beside(told: Told, image: Image, *argv: str, mounts: dict[str, Path] | None = None, **env: str) -> Iterator[None]:
    """Have ``argv`` run in the image and the host's network, until the end."""
    command = [word for word in image.command(argv, uid=USER, mounts=mounts) if word != "--net"]
    with (image.root.parent / f"{Path(argv[0]).name}.log").open("wb") as log:
        process = subprocess.Popen(
            told.host.argv(*command, outside=True), env={**image.env, **env}, stdout=log, stderr=log
        )
        try:
            yield
        finally:
            process.kill()
            process.wait()


def member(told: Told, name: str) -> None:
    """Have the container runtime say that ``name`` runs."""
    pod = {"metadata": {"name": name}, "createdAt": "2026-11-30T01:00:00Z", "network": {"ip": ADDRESS}}
    runtime = told.host.at(pods.CRICTL)
    runtime.parent.mkdir(parents=True, exist_ok=True)
    runtime.write_text(f"#!/bin/sh\ncase $1 in pods) echo a;; *) echo '{json.dumps({'status': pod})}';; esac\n")
    runtime.chmod(0o755)


def of(told: Told, pod: str) -> dict[str, float]:
    """Return what is told of ``pod``, without its name."""
    found = {series: value for series, value in told.metrics().items() if series != LAST_RUN}
    assert all(f'pod="{pod}"' in series for series in found)
    return {
        series.replace(f'{{pod="{pod}"}}', "").replace(f'pod="{pod}",', ""): value for series, value in found.items()
    }


def _own(path: Path) -> Path:
    path.parent.chmod(0o755)
    path.mkdir()
    os.chown(path, USER, USER)
    return path


def test_a_member_of_galera_tells_its_state_by_an_account_without_rights(
    told: Told, image: Callable[[str], Image], tmp_path: Path
) -> None:
    pod = "mariadb-server-0"
    member(told, pod)
    assert of(told, pod) == {}, "the layer openstack has not run"
    password = _own(tmp_path / "audit") / "MYSQL_DBAUDIT_PASSWORD"
    password.write_text("word")
    mariadb = image("mariadb")
    mounts = {"/opt/bin": CHARTS / "mariadb/files", "/run/secrets/audit": password.parent}
    env = {"MYSQL_PORT": "3306", "METRICS_PORT": str(services.DATABASE_METRICS), "AUDIT_USERNAME": "audit"}
    with beside(told, mariadb, "/opt/bin/exporter.py", mounts=mounts, **env):
        until(lambda: of(told, pod) == {"mysql_up": 0}, seconds=60)
        data = {"/var/lib/mysql": _own(tmp_path / "data"), "/run/mysqld": _own(tmp_path / "run")}
        with beside(told, mariadb, "bash", "-c", _MARIADB, mounts=data, HOME="/tmp"):  # noqa: S108  # in the image
            until(lambda: of(told, pod).get("mysql_global_status_wsrep_local_state") == 4, seconds=300)
            found = of(told, pod)
            expected = {"cluster_size": 1, "cluster_status": 1, "ready": 1, "local_recv_queue": 0}
            assert {name: found[f"mysql_global_status_wsrep_{name}"] for name in expected} == expected
            assert (found["mysql_up"], found["mysql_global_variables_max_connections"]) == (1, 77)
            assert {f"mysql_global_status_wsrep_flow_control_{name}" for name in ("sent", "paused_ns")} <= {*found}
            assert found["mysql_global_status_threads_connected"] >= 1
            password.write_text("former")
            assert of(told, pod) == {"mysql_up": 0}, "the password is read each time"
            password.write_text("word")
            assert of(told, pod)["mysql_up"] == 1
        until(lambda: of(told, pod) == {"mysql_up": 0}, seconds=60)
        assert told.host.run("curl", "-sf", f"http://{ADDRESS}:{services.DATABASE_METRICS}/etc/passwd").returncode != 0


def test_a_member_of_rabbitmq_tells_alarms_peers_lost_messages_and_deep_queues(
    told: Told, image: Callable[[str], Image], tmp_path: Path
) -> None:
    pod, name = "rabbitmq-rabbitmq-0", "rabbitmq_detailed_queue_messages_ready"
    member(told, pod)
    etc = _own(tmp_path / "etc")
    (etc / "enabled_plugins").write_text("[rabbitmq_management,rabbitmq_prometheus].")
    (etc / "rabbitmq.conf").write_text("listeners.tcp.1 = 127.0.0.1:5672\n")
    mounts = {"/var/lib/rabbitmq": _own(tmp_path / "data"), "/etc/rabbitmq": etc}
    env = {"HOME": "/var/lib/rabbitmq", "RABBITMQ_NODENAME": "rabbit@localhost"}
    with beside(told, image("rabbitmq"), "rabbitmq-server", mounts=mounts, **env):
        until(lambda: of(told, pod).get("rabbitmq_identity_info") == 1, seconds=300)
        found = of(told, pod)
        whole = ("alarms_free_disk_space_watermark", "alarms_memory_used_watermark", "alarms_file_descriptor_limit",
                 "unreachable_cluster_peers_count", "queue_messages_ready")  # fmt: skip
        assert {one: found[f"rabbitmq_{one}"] for one in whole} == dict.fromkeys(whole, 0)
        for queue, depth in (('the "deep" one', services.DEEP), ("shallow", services.DEEP - 1)):
            told.done("python3", "-c", _FILL, queue, str(depth))
        until(lambda: any(name in one for one in of(told, pod)), seconds=120)
        deep = {one: value for one, value in of(told, pod).items() if name in one}
        assert deep == {f'{name}{{queue="the \\"deep\\" one",vhost="/"}}': services.DEEP}


def test_memcached_tells_its_items_and_who_is_connected(told: Told, image: Callable[[str], Image]) -> None:
    pod = "memcached-memcached-0"
    member(told, pod)
    assert of(told, pod) == {"memcached_up": 0}
    with beside(told, image("memcached"), "memcached", "-U0", f"-p{services.CACHE}", "-m7", "-c100"):
        until(lambda: of(told, pod)["memcached_up"] == 1, seconds=60)
        found = of(told, pod)
        assert (found["memcached_limit_bytes"], found["memcached_max_connections"]) == (7 << 20, 100)
        assert found["memcached_items_evicted_total"] == found["memcached_current_items"] == 0
        assert found['memcached_commands_total{command="get",status="miss"}'] == 0
