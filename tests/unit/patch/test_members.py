"""Members of databases and queues in pods: all in by their own word, and a quorum without those on a host."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.health.context import VerifierContext
from ansible_collections.groundup.cloud.plugins.plugin_utils.health.verification import Check, Verification
from ansible_collections.groundup.cloud.plugins.plugin_utils.patch import members

from .conftest import PLAN


class Pods:
    """Three members of Galera, on a node each; RabbitMQ is not there yet, and Keystone has no quorum."""

    def __init__(self) -> None:
        self.nodes: dict[str, str | None] = {f"mariadb-server-{n}": f"control-{n + 1}" for n in range(3)}
        self.wanted, self.ready = 3, {*self.nodes}

    def get(self, path: str, **query: str) -> dict[str, Any]:
        name = query["labelSelector"].partition(",")[0].partition("=")[2]
        assert name in ("mariadb", "rabbitmq"), "only who needs a majority is asked"
        if name != "mariadb":
            return {"items": []}
        if path.endswith("/statefulsets"):
            return {"items": [{"metadata": {"name": "mariadb-server"}, "spec": {"replicas": self.wanted}}]}
        return {"items": [self.pod(pod, node) for pod, node in self.nodes.items()]}

    def pod(self, name: str, node: str | None) -> dict[str, Any]:
        ready = {"type": "Ready", "status": "True" if name in self.ready else "False"}
        return {
            "metadata": {"name": name}, "spec": {"nodeName": node} if node else {}, "status": {"conditions": [ready]}
        }  # fmt: skip


@pytest.fixture
def pods(monkeypatch: pytest.MonkeyPatch) -> Pods:
    pods = Pods()

    def verify(context: VerifierContext) -> Verification:
        size = len(context.running())
        checks = (
            Check(name="quorum", ok=size == pods.wanted, detail=f"{size} members"),
            Check(name="x", ok=True, detail=""),
        )
        return Verification(checks=checks)

    known = {
        name: SimpleNamespace(name=name, label=name.title(), quorum=quorum, verify=verify)
        for name, quorum in (("mariadb", "Galera"), ("rabbitmq", "RabbitMQ"), ("keystone", ""))
    }
    monkeypatch.setattr(members, "RECORDS", known)
    return pods


def lost(pods: Any, host: str = "control-1") -> list[str]:
    return [*members.lost(PLAN, pods, host)]


def unwell(pods: Any) -> list[str]:
    return [*members.unwell(PLAN, pods)]


def test_three_members_do_without_one(pods: Pods) -> None:
    assert (lost(pods), unwell(pods), lost(pods, "control-9")) == ([], [], [])


def test_a_member_that_is_away_speaks_against_the_host_of_another(pods: Pods) -> None:
    pods.ready.discard("mariadb-server-2")
    assert unwell(pods) == ["Mariadb: 2 members"]
    assert lost(pods) == ["Mariadb: without mariadb-server-0, 1 of 3 members are left"]
    assert lost(pods, "control-3") == [], "its own is away already"
    pods.nodes["mariadb-server-0"] = None
    pods.ready.discard("mariadb-server-0")
    assert lost(pods) == [], "it waits for its node, which a killed run has cordoned"


@pytest.mark.parametrize("wanted", [1, 2])
def test_members_too_few_to_lose_one_are_named(pods: Pods, wanted: int) -> None:
    pods.wanted = wanted
    pods.nodes = {name: node for name, node in pods.nodes.items() if int(name[-1]) < wanted}
    assert lost(pods) == [f"Mariadb: without mariadb-server-0, {wanted - 1} of {wanted} members are left"]


def test_two_members_on_one_host_are_too_many_to_lose(pods: Pods) -> None:
    pods.nodes["mariadb-server-1"] = "control-1"
    assert lost(pods) == ["Mariadb: without mariadb-server-0, mariadb-server-1, 1 of 3 members are left"]
