"""Ironic as many machines' ways look at it: one listing for all, and a seed that starts again is no fault of theirs."""

from __future__ import annotations

from http import HTTPStatus
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import requests
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.api import BusyError, Ironic, Watched
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.discovery import MachineDiscovery
from ansible_collections.groundup.cloud.plugins.plugin_utils.paths import COLLECTION
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import load_site, make_plan
from ansible_collections.groundup.cloud.tests.unit.metal.inventories import told

PAGES: dict[str, Any] = {
    "/v1/nodes?fields": {"nodes": [{"uuid": "a", "name": "m-1"}], "next": "https://seed/v1/nodes?marker=a"},
    "/v1/nodes?marker": {"nodes": [{"uuid": "b", "name": "m-2"}]},
    "/v1/nodes/m-3": {"uuid": "c", "name": "m-3"},
    "/v1/machines": {"m-1": {"called": 1.0}},
}


class Web:
    """What `requests` would ask; ``status`` is every answer's, None: nobody answers."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.asked, self.status = list[str](), HTTPStatus.OK.value
        self.down = False
        monkeypatch.setattr(requests.Session, "request", self.request)

    def request(self, method: str, url: str, **_more: Any) -> Any:
        if self.down:
            raise requests.ConnectionError("refused")
        self.asked.append(f"{method} {url}")
        body = next(page for part, page in PAGES.items() if part in url)
        return SimpleNamespace(status_code=self.status, content=b"{}", text="said", json=lambda: body)


@pytest.fixture
def web(monkeypatch: pytest.MonkeyPatch) -> Web:
    return Web(monkeypatch)


def watched(**more: float) -> Watched:
    given: dict[str, Any] = {"api": "https://seed", "media": "https://seed:1", "password": "p", "ca": Path("/ca")}
    return Watched(**{"age": 60.0} | given | more)


def test_a_hundred_looks_are_one_listing_of_every_page(web: Web) -> None:
    ironic = watched()
    for _ in range(100):
        assert (ironic.node("b") or {})["name"] == "m-2"
        assert (ironic.node("m-1") or {})["uuid"] == "a", "by its name, too"
        assert ironic.node("c") is None
        assert ironic.call_of("m-1") == {"called": 1.0}
    assert len(web.asked) == 3


def test_a_node_that_was_asked_for_as_it_is_now_is_in_the_listing(web: Web) -> None:
    ironic = watched()
    assert ironic.node("m-3") is None
    assert ironic.now("m-3") == ironic.node("m-3") == ironic.node("c") == ironic.nodes()["c"]
    assert len(web.asked) == 4


def test_a_listing_that_is_too_old_is_asked_again(web: Web) -> None:
    ironic = watched(age=-1)
    ironic.node("a")
    ironic.node("a")
    assert len(web.asked) == 6


@pytest.mark.parametrize("status", [409, 502, 503, 504])
def test_an_answer_that_is_another_one_later_is_no_failure_of_the_machine(web: Web, status: int) -> None:
    web.status = status
    with pytest.raises(BusyError):
        Ironic(api="https://seed", media="", password="p", ca=Path("/ca")).nodes()


def test_a_seed_that_answered_is_waited_for_and_one_that_never_did_is_an_error(web: Web) -> None:
    web.down = True
    with pytest.raises(GroundupError, match="does not answer") as never:
        watched().node("a")
    assert not isinstance(never.value, BusyError)
    web.down = False
    ironic = watched(age=-1)
    ironic.node("a")
    web.down = True
    with pytest.raises(BusyError):
        ironic.node("a")
    ironic._patience = -1
    with pytest.raises(GroundupError, match="does not answer") as ended:
        ironic.node("a")
    assert not isinstance(ended.value, BusyError)


def test_a_mac_address_that_another_machine_has_is_a_card_and_not_asked_for_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def request(_self: Any, method: str, _url: str, **_more: Any) -> Any:
        known = SimpleNamespace(status_code=200, content=b"{}", text="", json=lambda: {"uuid": "a", "ports": []})
        taken = SimpleNamespace(status_code=409, content=b"", text="A port with MAC address 52 already exists.")
        return taken if method == "POST" else known

    monkeypatch.setattr(requests.Session, "request", request)
    with pytest.raises(GroundupError, match="another machine has its MAC address 52") as taken:
        watched().create({"name": "m-1", "uuid": "a"}, mac="52")
    assert not isinstance(taken.value, BusyError)
    assert taken.value.where == "m-1"


def test_an_approval_is_in_the_listing_at_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    node: dict[str, Any] = {"uuid": "a", "name": "m-1", "provision_state": "manageable", "extra": {}}

    def request(_self: Any, method: str, url: str, **_more: Any) -> Any:
        if method == "PATCH":
            node["extra"] = {"groundup_approved": "m-1"}
        listing = {} if "/v1/machines" in url else {"nodes": [] if "provision_state=" in url else [dict(node)]}
        body = dict(node) if url.endswith("/v1/nodes/a") else told(1) if url.endswith("inventory") else listing
        return SimpleNamespace(status_code=HTTPStatus.OK, content=b"{}", text="", json=lambda: body)

    monkeypatch.setattr(requests.Session, "request", request)
    ironic, plan = watched(), make_plan(load_site(COLLECTION / "inventories/lab-metal/site.yml"))
    found = MachineDiscovery(ironic=ironic, plan=plan, home=tmp_path, say=pytest.fail, seconds=0, password=str)
    found.approve("m-1", about=found.waiting("m-1").shown)
    assert (ironic.node("m-1") or {})["extra"] == {"groundup_approved": "m-1"}
