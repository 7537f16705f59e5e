"""The services of the images really start, as the charts' users, on a read-only root."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

from .conftest import Image

_MARIADB = """
mariadb-install-db --user=mysql --skip-test-db >/dev/null 2>&1
mariadbd --skip-networking >/run/mysqld/log 2>&1 &
for _ in $(seq 120); do
  mariadb -N -e 'select version()' 2>/dev/null && break; sleep 0.5
done
"""
_RABBITMQ = """
rabbitmq-server > /tmp/log 2>&1 &
rabbitmqctl --quiet wait --timeout 120 --pid $! || cat /tmp/log
rabbitmqctl --quiet await_startup --timeout 60
rabbitmqadmin --username=guest --password=guest list nodes -f bash
grep -c 'Time to start RabbitMQ' /tmp/log
"""


def _owned(path: Path, uid: int) -> Path:
    path.mkdir()
    os.chown(path, uid, uid)
    return path


def _run(
    image: Image, script: str, *, uid: int, mounts: Mapping[str, Path], env: Mapping[str, str] | None = None
) -> str:
    return image.run("bash", "-c", script, uid=uid, mounts=mounts, env=env).stdout


def test_mariadb_makes_its_data_and_answers(image: Callable[[str], Image], tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    mounts = {"/var/lib/mysql": _owned(tmp_path / "data", 999), "/run/mysqld": _owned(tmp_path / "run", 999)}
    assert _run(image("mariadb"), _MARIADB, uid=999, mounts=mounts).startswith("11.8")


def test_rabbitmq_starts_with_the_plugins_of_the_charts_and_logs_to_its_output(
    image: Callable[[str], Image], tmp_path: Path
) -> None:
    configuration = _owned(tmp_path / "etc", 999)
    plugins = "[rabbitmq_management,rabbitmq_peer_discovery_k8s,rabbitmq_prometheus]."
    (configuration / "enabled_plugins").write_text(plugins, encoding="utf-8")
    data = _owned(tmp_path / "data", 999)
    (data / ".erlang.cookie").write_text("cookie-of-a-test", encoding="utf-8")
    (data / ".erlang.cookie").chmod(0o600)
    os.chown(data / ".erlang.cookie", 999, 999)
    said = _run(
        image("rabbitmq"), _RABBITMQ, uid=999, mounts={"/var/lib/rabbitmq": data, "/etc/rabbitmq": configuration},
        env={"HOME": "/var/lib/rabbitmq", "RABBITMQ_NODENAME": "rabbit@localhost"},
    )  # fmt: skip
    assert said.splitlines()[-2:] == ["rabbit@localhost", "1"], said


def test_memcached_answers_as_nobody(image: Callable[[str], Image]) -> None:
    ask = "memcached -U 0 & sleep 1; exec 3<>/dev/tcp/127.0.0.1/11211; printf 'version\\r\\n' >&3; head -1 <&3"
    assert "VERSION 1.6" in image("memcached").run("bash", "-c", ask).stdout


def test_dep_check_needs_nothing_else_and_ends_without_dependencies(image: Callable[[str], Image]) -> None:
    dep_check = image("dep-check")
    assert dep_check.run("/usr/local/bin/kubernetes-entrypoint").returncode == 0
