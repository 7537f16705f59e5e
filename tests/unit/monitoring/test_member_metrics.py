"""What members in pods tell: which pods are asked, and that one which lies spoils nothing of the others."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._kubeadm import converge
from ansible_collections.groundup.cloud.plugins.module_utils._monitoring.host_metrics import answers, pods, services
from ansible_collections.groundup.cloud.plugins.module_utils._monitoring.host_metrics.pods import Pod
from ansible_collections.groundup.cloud.plugins.module_utils._monitoring.host_metrics.samples import text

CRICTL = str(pods.CRICTL)
DATABASE, QUEUE, CACHE = (Pod(name, f"{name}-0", "127.0.0.1") for name in services._PARTS)


@pytest.fixture
def runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Have crictl say ``ids`` and the statuses of pods; return what it was asked."""
    monkeypatch.setattr(pods, "CRICTL", tmp_path / "crictl")

    def say(ids: str, said: object) -> Path:
        (tmp_path / "said").write_text(json.dumps(said))
        pods.CRICTL.write_text(
            f'#!/bin/sh\necho "$@" >> {tmp_path}/asked\n'
            f'case $1 in pods) printf "{ids}";; inspectp) cat {tmp_path}/said;; esac\n'
        )
        pods.CRICTL.chmod(0o755)
        return tmp_path / "asked"

    return say


def status(name: str, address: str, created: str = "2026-11-30T01:00:00.1Z") -> dict[str, object]:
    """Return a pod as crictl describes it, in part."""
    return {"status": {"metadata": {"name": name}, "createdAt": created, "network": {"ip": address}}}


def test_pods_are_those_of_the_namespace_that_the_runtime_runs(runtime: Callable[..., Path]) -> None:
    assert list(pods.running("openstack", services._PARTS)) == [], "no node"
    assert converge.CRICTL == CRICTL
    asked = runtime("a\nb\n", [status("mariadb-server-1", "10.0.0.7"), status("rabbitmq-rabbitmq-0", "10.0.0.8")])
    assert pods.running("openstack", services._PARTS) == [
        Pod("mariadb-server", "mariadb-server-1", "10.0.0.7"),
        Pod("rabbitmq-rabbitmq", "rabbitmq-rabbitmq-0", "10.0.0.8"),
    ]
    first, second = asked.read_text().splitlines()
    names = "^(mariadb-server|rabbitmq-rabbitmq|memcached-memcached)-[0-9]+$"
    assert first == f"pods --quiet --state ready --namespace ^openstack$ --name {names}"
    assert second == "inspectp --quiet --output json a b"


def test_one_pod_alone_comes_without_a_list_and_none_is_not_asked_for(runtime: Callable[..., Path]) -> None:
    runtime("a\n", status("mariadb-server-1", "10.0.0.7"))
    assert [one.name for one in pods.running("openstack", services._PARTS)] == ["mariadb-server-1"]
    asked = runtime("", None)
    assert pods.running("openstack", services._PARTS) == []
    assert asked.read_text().splitlines()[-1].startswith("pods ")


def test_of_two_pods_with_one_name_the_newer_is_asked_and_none_of_the_hosts_network(
    runtime: Callable[..., Path],
) -> None:
    older, newer = (status("mariadb-server-1", f"10.0.0.{day}", f"2026-11-{day}T01:00:00Z") for day in (10, 20))
    runtime("c\nb\na\n", [status("rabbitmq-rabbitmq-0", ""), newer, older])
    assert [one.address for one in pods.running("openstack", services._PARTS)] == ["10.0.0.20"]


@pytest.fixture
def answering(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., str]]:
    """Return a function that has a pod answer, once for each answer, and returns what is told of it."""
    threads = []

    def tell(pod: Pod, *answers: bytes, keep: bool = False) -> str:
        server = socket.create_server(("127.0.0.1", 0))
        for port in ("DATABASE_METRICS", "QUEUE_METRICS", "CACHE"):
            monkeypatch.setattr(services, port, server.getsockname()[1])
        monkeypatch.setattr(pods, "running", lambda *_: [pod])

        def serve() -> None:
            with server:
                for answer in answers:
                    with server.accept()[0] as connection:
                        connection.recv(1 << 16)
                        connection.sendall(answer)
                        threading.Event().wait(1 if keep else 0)

        threads.append(threading.Thread(target=serve))
        threads[-1].start()
        return text(services.members("openstack"))

    yield tell
    for thread in threads:
        thread.join()


def _http(body: str) -> bytes:
    return f"HTTP/1.1 200 OK\r\n\r\n{body}".encode()


def test_a_pod_tells_known_names_with_known_labels_each_once(answering: Callable[..., str]) -> None:
    said = (
        'mysql_up 1\nmysql_up{pod="other",object="x",0="y"} 0\nnode_load1 9\ngroundup_drift_objects 0\nmysql_up nan\n'
    )
    assert answering(DATABASE, _http(said)) == 'mysql_up{pod="mariadb-server-0"} 0\n'
    said = 'rabbitmq_global_messages_unroutable_dropped_total{protocol="amqp091",queue_type="q"} 3\n'
    assert answering(QUEUE, _http(said)) == (
        'rabbitmq_global_messages_unroutable_dropped_total{protocol="amqp091",pod="rabbitmq-rabbitmq-0"} 3\n'
    )


def test_a_database_tells_of_the_clouds_services_by_known_labels(answering: Callable[..., str]) -> None:
    said = (
        'openstack_nova_agent_state{service="nova-compute",hostname="a\\"b",adminState="enabled",id="7"} 1\n'
        'openstack_nova_server_status{hostname="a"} 1\ngroundup_cloud_objects{kind="volumes",state="stuck"} 2\n'
    )
    assert answering(DATABASE, _http(said)) == (
        'groundup_cloud_objects{kind="volumes",state="stuck",pod="mariadb-server-0"} 2\n'
        'openstack_nova_agent_state{adminState="enabled",hostname="a\\"b",service="nova-compute",pod="mariadb-server-0"}'
        " 1\n"
    )


def test_a_pod_tells_no_more_series_than_a_good_one_has(answering: Callable[..., str]) -> None:
    each = "".join(f'rabbitmq_queues{{queue="{number}"}} 1\n' for number in range(1000))
    assert len(answering(QUEUE, _http(each)).splitlines()) == services._MOST
    (line,) = answering(QUEUE, _http(f'rabbitmq_queues{{queue="{"q" * 1000}"}} 1\n')).splitlines()
    assert line.count("q" * services._LONGEST) == 1
    assert "q" * (services._LONGEST + 1) not in line


def test_deep_queues_are_told_by_name_and_the_deepest_alone(answering: Callable[..., str]) -> None:
    name = "rabbitmq_detailed_queue_messages_ready"
    each = "".join(f'{name}{{vhost="/",queue="{number}"}} {number}\n' for number in range(990, 1030))
    told = answering(QUEUE, _http("rabbitmq_queue_messages_ready 40000\n"), _http(each))
    deep = sorted(line.split('queue="')[1][:4] for line in told.splitlines() if name in line)
    assert deep == [str(number) for number in range(1030 - services.DEEPEST, 1030)]


@pytest.mark.parametrize(
    "answer", [b"", b"HTTP/1.1 500 no\r\n\r\nmysql_up 1\n", b"\xff\xfe\r\n\r\nmysql_up 1\n", b"mysql_up 1\n"]
)
def test_a_pod_that_gives_no_metrics_tells_nothing(answering: Callable[..., str], answer: bytes) -> None:
    assert answering(DATABASE, answer) == ""


def test_an_answer_without_an_end_is_none(answering: Callable[..., str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pods, "PATIENCE", 0.2)
    assert answering(DATABASE, _http("mysql_up 1\n"), keep=True) == ""
    monkeypatch.setattr(answers, "LIMIT", 20)
    assert answering(DATABASE, _http("mysql_up 1\n" * 9)) == ""


def test_a_memcached_that_is_silent_or_says_little_is_not_up(answering: Callable[..., str]) -> None:
    assert answering(CACHE, b"ERROR\r\n") == 'memcached_up{pod="memcached-memcached-0"} 0\n'
