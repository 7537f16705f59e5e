"""A site is proven again when what an instance depends on is another than last time, or when it is asked for."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.action import tenant_smoke as module
from ansible_collections.groundup.cloud.plugins.plugin_utils.actions import documented
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud import connection, proof, smoke
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud.steps import SmokeError, Steps
from ansible_collections.groundup.cloud.plugins.plugin_utils.compose import site_plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError

ROOT = Path(__file__).resolve().parents[3]
SITE = ROOT / "inventories/lab/site.yml"
LINE = "instance smoke-1 on hypervisor-1 answered"


class Cloud:
    def authorize(self) -> None:
        pass


@pytest.fixture
def action(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("GROUNDUP_STATE", str(tmp_path))
    (tmp_path / "guest.qcow2").write_bytes(b"QFI")
    monkeypatch.setattr(connection, "of_site", lambda _: Cloud())
    made = module.ActionModule.__new__(module.ActionModule)
    made._display = type("Display", (), {"display": staticmethod(lambda _: None)})()
    return made


def prove(action: Any, tmp_path: Path, **options: Any) -> str:
    defaults = {name: option.get("default") for name, option in documented("tenant_smoke").items()}
    given = {**defaults, "site_file": str(SITE), "image": str(tmp_path / "guest.qcow2"), **options}
    return str(action._prove(given, Steps(lambda _: None))["msg"])


def test_only_what_changed_is_proven_again(action: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[Any] = []

    def answered(*given: Any) -> dict[str, str]:
        ran.append(given)
        return {"msg": LINE}

    monkeypatch.setattr(smoke, "smoke", answered)
    assert prove(action, tmp_path, again=False) == LINE
    assert prove(action, tmp_path, again=False) == f"nothing has changed since: {LINE}"
    assert len(ran) == 1
    assert prove(action, tmp_path) == LINE
    assert len(ran) == 2


def test_a_proof_that_failed_is_no_proof(action: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(smoke, "smoke", lambda *_: {"msg": LINE})
    prove(action, tmp_path)

    def fails(*_: Any) -> None:
        raise SmokeError("silent", layer="guest", where="instance", remedy="look")

    monkeypatch.setattr(smoke, "smoke", fails)
    with pytest.raises(SmokeError):
        prove(action, tmp_path)
    with pytest.raises(SmokeError):
        prove(action, tmp_path, again=False)


def test_a_run_that_was_ended_says_so(action: Any) -> None:
    def ended(_: Any) -> None:
        raise KeyboardInterrupt("SIGTERM")

    answer = action.stepped(ended, killed="the instance was not proven")
    assert answer["failed"]
    assert answer["msg"].startswith("ended by SIGTERM")
    assert answer["steps"] == []


def test_an_image_that_is_not_there_is_named(action: Any, tmp_path: Path) -> None:
    with pytest.raises(GroundupError, match=r"nowhere\.qcow2"):
        prove(action, tmp_path, image="nowhere.qcow2")


def test_what_an_instance_depends_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GROUNDUP_STATE", str(tmp_path))
    plan = site_plan(SITE)
    same = proof.digest(plan)
    assert proof.digest(site_plan(SITE)) == same
    assert proof.digest(replace(plan, ovn=replace(plan.ovn, tenant_mtu=1400))) != same
    for name in ("published.json", "cluster.json"):
        before = proof.digest(plan)
        (tmp_path / plan.site).mkdir(exist_ok=True)
        (tmp_path / plan.site / name).write_text("another")
        assert proof.digest(plan) != before
