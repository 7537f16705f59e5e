"""Steps of module hypervisors: what each says of the cloud's hosts, and that a dry run waits for nobody."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from ansible.plugins.action import ActionBase
from ansible_collections.groundup.cloud.plugins.action import hypervisors
from ansible_collections.groundup.cloud.plugins.plugin_utils.actions import documented
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud import connection, joining, places, probe
from ansible_collections.groundup.cloud.plugins.plugin_utils.compose import site_plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.layers.aside import Aside

from .fake import FakeCloud

SITE = Path(__file__).resolve().parents[3] / "inventories/cloud/site.yml"
HOSTS = sorted(name for name, host in site_plan(SITE).hosts.items() if "hypervisor" in host.roles)


@pytest.fixture(autouse=True)
def bare(admin: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "of_site", lambda _: admin)
    monkeypatch.setattr(ActionBase, "run", lambda *_, **__: {})
    monkeypatch.setattr(ActionBase, "validate_argument_spec", lambda self, *_, **__: (None, self._task.args))


def run(step: str, *, check: bool = False) -> dict[str, Any]:
    given = {name: option.get("default") for name, option in documented("hypervisors").items()}
    given |= {"site_file": str(SITE), "step": step, "hosts": HOSTS, "machines": HOSTS}
    action: Any = object.__new__(hypervisors.ActionModule)
    action._task = SimpleNamespace(args=given, check_mode=check)
    action._display = SimpleNamespace(display=print)
    result: dict[str, Any] = action.run()
    return result


def test_a_host_that_has_not_joined_fails_the_step_with_its_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    lack = Aside(host="h", layer="service", reason="down", remedy="see its log")
    monkeypatch.setattr(hypervisors, "asker", lambda _: None)
    monkeypatch.setattr(joining, "wait", lambda *_, **__: [lack])
    done = run("wait")
    assert (done["failed"], done["msg"]) == (True, "h (service): down. Remedy: see its log")
    assert [one["host"] for one in done["aside"]] == ["h"]
    monkeypatch.setattr(joining, "wait", lambda *_, **__: [])
    assert run("wait") == {"changed": False, "aside": []}


def test_a_dry_run_waits_for_nobody() -> None:
    assert run("wait", check=True)["skipped"]


def test_verify_wants_hosts_in_their_places_and_proven(fake: FakeCloud) -> None:
    for host in HOSTS:
        fake.hosts.join(host, reason=probe.NEW)
    assert "create aggregate" in run("verify")["msg"]
    assert len(run("place")["changes"]) >= len(places.wanted(site_plan(SITE)))
    assert f"no instance has answered yet on {HOSTS[0]}" in run("verify")["msg"]
    for one in fake.of("services"):
        one["disabled_reason"] = "memory is broken"
    done = run("verify")
    assert (done["changed"], done["kept"]) == (False, dict.fromkeys(HOSTS, "memory is broken"))
    assert done["warnings"][0] == f"{HOSTS[0]} stays disabled, by somebody's word: memory is broken"


@pytest.mark.parametrize("check", [True, False])
def test_a_cloud_that_does_not_answer_is_an_error_but_in_a_dry_run(
    check: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def silent(_: object) -> Any:
        raise GroundupError("there is no cloud", where="here", why="so", remedy="make one")

    monkeypatch.setattr(hypervisors, "asker", silent)
    done = run("compare", check=check)
    assert "there is no cloud" in done["msg"]
    assert done.get("failed", False) is not check
    assert (done.get("leftover") == []) is check
