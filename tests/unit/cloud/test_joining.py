"""A hypervisor has joined when Neutron, Nova and Placement all say so; the first thing that is missing is named."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud import connection, joining
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud.administrator import UnreachedError
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud.joining import INVENTORY, Cloud, lacking, look
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud.leftover import look as look_around
from ansible_collections.groundup.cloud.plugins.plugin_utils.compose import site_plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError

from .hypervisors import HERE, THERE, Hypervisors

ROOT = Path(__file__).resolve().parents[3]
HOST = "hypervisor-1"
CONTROLLER = {"agent_type": "OVN Controller Gateway agent", "host": HOST, "alive": True}
AGENT = {"agent_type": "OVN Neutron agent", "host": HOST, "alive": True}
CARDS = {"agent_type": "NIC Switch agent", "host": HOST, "alive": True}
LOST = "AUTO: Connection to libvirt lost: 1"
JOINED = Cloud(
    services=[{"host": HOST, "state": "up"}],
    hypervisors={HOST: "u"},
    providers=frozenset(("u",)),
    inventories={"u": INVENTORY},
    agents=[CONTROLLER, AGENT],
)


def test_a_host_that_everybody_knows_has_joined() -> None:
    assert lacking(JOINED, [HOST]) == []
    closed = {"host": HOST, "state": "up", "status": "disabled", "disabled_reason": "groundup.cloud.drain"}
    assert lacking(replace(JOINED, services=[closed]), [HOST]) == [], "a person closed it"


def test_a_cloud_that_does_not_answer_at_the_end_is_named_for_every_host(monkeypatch: pytest.MonkeyPatch) -> None:
    def silent(kind: str, path: str) -> Any:
        raise GroundupError("no answer", where=f"{kind} {path}", why="so", remedy="see the edge")

    monkeypatch.setattr(joining, "PAUSE", 0)
    left = joining.wait(silent, [HOST, "other"], timeout=0)
    assert [(one.host, one.layer, one.remedy) for one in left] == [
        (host, "service", "see the edge") for host in (HOST, "other")
    ]
    assert "no answer (placement /resource_providers)" in left[0].reason


def test_a_wait_ends_when_the_last_host_has_joined(monkeypatch: pytest.MonkeyPatch) -> None:
    clouds = [replace(JOINED, agents=[]), JOINED]
    monkeypatch.setattr(joining, "PAUSE", 0)
    monkeypatch.setattr(joining, "look", lambda *_: clouds.pop(0))
    assert joining.wait(lambda *_: {}, [HOST], timeout=5) == []
    assert clouds == []


@pytest.mark.parametrize(
    ("change", "layer", "said"),
    [
        ({"agents": []}, "network", "no chassis"),
        ({"agents": [AGENT]}, "network", "no chassis"),
        ({"agents": [CONTROLLER, {**AGENT, "alive": False}]}, "network", "OVN Neutron agent"),
        ({"services": []}, "message queue", "never reported"),
        ({"services": [{"host": HOST, "state": "down"}]}, "service", "down"),
        ({"services": [{"host": HOST, "state": "up", "status": "disabled", "disabled_reason": LOST}]}, "service", LOST),
        ({"hypervisors": {}}, "service", "no cell"),
        ({"providers": frozenset()}, "service", "no resource provider"),
        ({"inventories": {"u": INVENTORY - {"DISK_GB"}}}, "service", "DISK_GB"),
        ({"inventories": {}}, "service", "VCPU"),
    ],
)  # fmt: skip
def test_what_is_missing_is_named_with_its_layer(change: dict[str, Any], layer: str, said: str) -> None:
    (lack,) = lacking(replace(JOINED, **change), [HOST])
    assert (lack.host, lack.layer) == (HOST, layer)
    assert said in lack.reason
    assert HOST in lack.remedy or "scheduler" in lack.remedy


def test_another_host_says_nothing_of_this_one() -> None:
    assert [one.host for one in lacking(JOINED, [HOST, "hypervisor-2"])] == ["hypervisor-2"]


def test_inventories_are_asked_for_the_hosts_alone() -> None:
    asked: list[str] = []

    def ask(kind: str, path: str) -> Mapping[str, Any]:
        asked.append(f"{kind} {path}")
        empty: dict[str, Any] = {"services": [], "agents": [], "inventories": {"VCPU": {}}}
        known = [
            {"hypervisor_hostname": f"{name}.lab.test", "service": {"host": name}, "id": uuid}
            for name, uuid in ((HOST, "u"), ("other", "o"))
        ]
        return {**empty, "hypervisors": known, "resource_providers": [{"uuid": "u"}, {"uuid": "o"}]}

    assert look(ask, [HOST]).inventories == {"u": frozenset(("VCPU",))}
    assert not any("/o/" in one for one in asked)


@pytest.fixture
def ask(operator: Any, monkeypatch: pytest.MonkeyPatch) -> connection.Ask:
    """What asks the cloud with two hypervisors."""
    monkeypatch.setattr(connection, "of_site", lambda _, **__: operator)
    return connection.asker(site_plan(ROOT / "inventories/cloud/site.yml"))


def test_a_cloud_is_asked_once_a_question(nova: Hypervisors, ask: connection.Ask) -> None:
    assert lacking(look(ask, [HERE, THERE]), [HERE, THERE]) == []
    seen = look_around(ask, hypervisors=[HERE], machines=[HERE])
    assert [one.host for one in seen.leftover] == [THERE]
    assert nova.asked.count("POST auth/tokens") == 1
    assert [one for one in nova.asked if one.startswith("GET")] == [
        "GET resource_providers", "GET os-hypervisors/detail", "GET os-services",
        *(f"GET resource_providers/{one}/inventories" for one in (f"uuid-{HERE}", f"uuid-{THERE}")),
        "GET agents", "GET os-services", "GET agents",
    ]  # fmt: skip


def test_a_question_that_gets_no_answer_names_the_service(nova: Hypervisors, ask: connection.Ask) -> None:
    nova.refuses["GET hypervisors"] = (500, "an unexpected error")
    with pytest.raises(GroundupError, match="an unexpected error") as caught:
        look(ask, [HERE])
    assert caught.value.where == "compute /os-hypervisors/detail"
    nova.refuses["GET agents"] = (503, "no server is available")
    with pytest.raises(UnreachedError):
        look_around(ask, hypervisors=[], machines=[])


def test_the_record_of_an_agent_of_cards_that_are_gone_keeps_nobody_out() -> None:
    assert list(lacking(replace(JOINED, agents=[CONTROLLER, AGENT, {**CARDS, "alive": False}]), [HOST])) == []
