"""What services answer, and what the verifiers make of it: the words of failure cards."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.health.context import VerifierContext
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.client import Executed
from ansible_collections.groundup.cloud.plugins.plugin_utils.services import mariadb, memcached, rabbitmq


def context(name: str, api: Any, **values: Any) -> VerifierContext:
    """Return the context of release ``name``."""
    release: Any = SimpleNamespace(name=name, namespace="openstack")
    plan: Any = SimpleNamespace(openstack=SimpleNamespace(charts="builtin"))
    return VerifierContext(api=api, plan=plan, release=release, values=values, authority=Path("/nonexistent"))


def galera(size: str, status: str = "Primary", state: str = "Synced") -> dict[str, str]:
    return {
        "wsrep_cluster_size": size, "wsrep_cluster_status": status, "wsrep_local_state_comment": state,
        "wsrep_ready": "ON",
    }  # fmt: skip


def test_a_whole_galera_cluster_passes() -> None:
    members = {f"mariadb-server-{number}": galera("3") for number in range(3)}
    assert mariadb.judge_quorum(3, members, {}, owner="s").ok
    assert mariadb.judge_state(members, owner="s").ok


@pytest.mark.parametrize(
    "members",
    [
        {"a": galera("1")},
        {"a": galera("1", "non-Primary")},
        {"a": galera("3"), "b": galera("3"), "c": galera("1", "non-Primary")},
        {"a": galera("2"), "b": galera("2")},
        {},
    ],
)
def test_a_galera_cluster_that_is_not_whole_fails_however_many_pods_run(members: dict[str, Any]) -> None:
    assert not mariadb.judge_quorum(3, members, {}, owner="s").ok


def test_a_cluster_that_is_whole_without_a_member_that_should_be_there_is_not_whole() -> None:
    members = {"a": galera("3"), "b": galera("3"), "c": galera("3")}
    assert not mariadb.judge_quorum(3, members, {"d": "does not answer"}, owner="s").ok


def test_one_galera_member_left_of_three_is_called_no_majority() -> None:
    assert "no majority of 3" in mariadb.judge_quorum(3, {"a": galera("1")}, {}, owner="s").detail


class Galera:
    """As much of the API as the verifier asks: four members wanted, of which one is well.

    The second says that it is outside the primary component, the third's node is gone, the fourth has no pod.
    """

    def get(self, path: str, **_: str) -> Any:
        if path.endswith("/statefulsets"):
            return {"items": [{"metadata": {"name": "mariadb-server"}, "spec": {"replicas": 4}}]}
        return {"items": [self.pod(0, ready=True), self.pod(1, ready=False), self.pod(2, ready=False)]}

    def find(self, path: str) -> Any:
        ready = "False" if path.endswith("node-2") else "True"
        return {"status": {"conditions": [{"type": "Ready", "status": ready}]}}

    def execute(self, _namespace: str, pod: str, *_: Any, **__: Any) -> Any:
        assert pod != "mariadb-server-2", "a node that is gone is not asked: that would take half a minute"
        status = galera("1") if pod == "mariadb-server-0" else galera("1", "non-Primary", "Initialized")
        return Executed(code=0, stdout="".join(f"{key}\t{value}\n" for key, value in status.items()), stderr="")

    @staticmethod
    def pod(ordinal: int, *, ready: bool) -> dict[str, Any]:
        return {
            "metadata": {"name": f"mariadb-server-{ordinal}"},
            "spec": {"nodeName": f"node-{ordinal}"},
            "status": {
                "conditions": [{"type": "Ready", "status": str(ready)}],
                "containerStatuses": [{"name": "mariadb", "state": {"running": {}}}],
            },
        }


def test_the_galera_card_says_who_is_missing_and_why() -> None:
    quorum, answers, _, certificate = mariadb.verify(context("mariadb", Galera())).checks
    assert quorum.detail == (
        "2 of 4 Galera members answer and see a cluster of 1; "
        "missing: mariadb-server-2 (its node node-2 is not Ready), mariadb-server-3 (it has no pod); "
        "not in the primary component: mariadb-server-1; that is no majority of 4"
    )
    assert not quorum.ok
    assert not answers.ok
    assert (certificate.ok, certificate.detail) == (False, "there is no Secret mariadb-galera-tls")


class Waiting(Galera):
    """Members 0 and 1 have not become servers yet: their start program says why."""

    def execute(self, _namespace: str, pod: str, *argv: Any, **_: Any) -> Any:
        if pod and argv[0][0] == "cat":
            return Executed(code=0, stdout="refused: no member holds a database\n", stderr="")
        return Executed(code=1, stdout="", stderr="ERROR 2002: Can't connect to local server through socket")


def test_the_galera_card_says_what_a_member_waits_for() -> None:
    quorum, *_ = mariadb.verify(context("mariadb", Waiting())).checks
    assert "mariadb-server-1 (refused: no member holds a database)" in quorum.detail


def test_a_member_that_copies_data_is_not_in_step() -> None:
    check = mariadb.judge_state({"a": galera("3", state="Donor/Desynced")}, owner="s")
    assert not check.ok
    assert "Donor" in check.detail


def test_galera_status_is_read_from_tab_separated_lines() -> None:
    assert mariadb.parse("wsrep_cluster_size\t3\nwsrep_ready\tON\n") == {"wsrep_cluster_size": "3", "wsrep_ready": "ON"}


def test_rabbitmq_partitions_alarms_and_missing_members_are_seen() -> None:
    whole = {"running_nodes": ["a", "b", "c"], "partitions": {}, "alarms": []}
    assert all(check.ok for check in rabbitmq.judge(whole, wanted=3, owner="s"))
    torn = {"running_nodes": ["a", "b"], "partitions": {"a": ["b"]}, "alarms": [{"resource": "memory", "node": "a"}]}
    assert {check.name for check in rabbitmq.judge(torn, wanted=3, owner="s") if not check.ok} == {
        "members", "partitions", "alarms",
    }  # fmt: skip


def test_rabbitmq_warnings_before_the_answer_are_skipped() -> None:
    assert rabbitmq.parse('warning: deprecated\n{"running_nodes": []}') == {"running_nodes": []}
    with pytest.raises(ValueError, match="no object"):
        rabbitmq.parse("Error: unable to connect")


def test_memcached_stats_are_parsed() -> None:
    assert memcached.parse("STAT uptime 12\r\nSTAT version 1.6.38 (x)\r\nEND\r\n")["uptime"] == "12"


@pytest.mark.parametrize(("values", "port"), [({}, 11211), ({"memcache": {"default": 11212}}, 11212)])
def test_memcached_is_asked_at_the_port_of_the_release(values: dict[str, Any], port: int) -> None:
    asked: list[int] = []

    @contextmanager
    def connect(_namespace: str, _pod: str, to: int) -> Iterator[socket.socket]:
        ours, theirs = socket.socketpair()
        with ours, theirs:
            asked.append(to)
            theirs.sendall(b"STAT uptime 12\r\nEND\r\n")
            yield ours

    told = context("memcached", SimpleNamespace(connect=connect), endpoints={"oslo_cache": {"port": values}})
    assert memcached._stats(told, "memcached-0") == {"uptime": "12"}
    assert asked == [port]
