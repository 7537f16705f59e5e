"""The further steps of a whole smoke: consoles, and a live migration that the guest does not notice."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base import wait
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud import smoke as walk
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud import thorough
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud.guest import Guest, Said
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud.steps import SmokeError, Steps
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud.tenant import Tenant, TenantOptions
from ansible_collections.groundup.cloud.plugins.plugin_utils.services import nova as service

from .hypervisors import HERE, HOST, THERE, Hypervisors

STEPS = ["console output", "console URL", "live migration"]


@pytest.fixture
def lines() -> list[str]:
    return []


@pytest.fixture
def boots(monkeypatch: pytest.MonkeyPatch) -> list[Said]:
    """Return what the guest says to the question which boot this is: each answer once, the last for ever."""
    answers = [Said(data=b"boot-1\n")]
    monkeypatch.setattr(Guest, "ask", lambda *_, **__: answers.pop(0) if len(answers) > 1 else answers[0])
    monkeypatch.setattr(wait, "time", SimpleNamespace(monotonic=time.monotonic, sleep=lambda _: None))
    return answers


@pytest.fixture
def prove(
    nova: Hypervisors, operator: Any, boots: list[Said], lines: list[str], tmp_path: Path
) -> Callable[..., tuple[Steps, str]]:
    """Take the steps with an instance on the first hypervisor."""
    assert boots

    def run(**options: Any) -> tuple[Steps, str]:
        steps = Steps(lines.append)
        given = TenantOptions(image=tmp_path / "i", user="guest", thorough=True, timeout=5, **options)
        tenant = Tenant(operator, given, steps, tmp_path, tenant=operator)
        guest = Guest(address="203.0.113.7", user="guest", directory=tmp_path)
        return steps, thorough.prove(tenant, nova.server("smoke-1"), HERE, guest)

    return run


def test_each_step_is_printed_and_the_guest_answers_on_the_other_host(
    prove: Callable[..., tuple[Steps, str]], nova: Hypervisors, lines: list[str]
) -> None:
    steps, there = prove()
    assert ([one.name for one in steps.done], there) == (STEPS, THERE)
    assert nova.of("servers")[0][HOST] == THERE
    assert "1 lines, the last: guest: sshd is up" in lines[0]
    assert f"console.{nova.domain}:{nova.port}/vnc_lite.html answers 200" in lines[1]
    assert f"{HERE} to {THERE} in " in lines[2]
    assert "at 203.0.113.7" in lines[2]
    assert "t0ken" not in "".join(lines)


def test_without_a_second_hypervisor_the_step_says_so(
    prove: Callable[..., tuple[Steps, str]], nova: Hypervisors, lines: list[str]
) -> None:
    nova.service(THERE)["status"] = "disabled"
    _, there = prove()
    assert there == ""
    assert f"no other hypervisor than {HERE} is up and enabled" in lines[-1]


def test_a_migration_that_fails_is_told_in_novas_words(
    prove: Callable[..., tuple[Steps, str]], nova: Hypervisors, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        nova, "fails", type("All", (dict,), {"__contains__": lambda *_: True, "get": lambda *_: "CPU"})()
    )
    with pytest.raises(SmokeError, match=r"does not move live: nova\.exception\.NoValidHost: CPU") as caught:
        prove()
    assert (caught.value.layer, "nova-compute" in caught.value.remedy) == ("compute", True)


@pytest.mark.parametrize(
    ("after", "said"),
    [(Said(data=b"boot-2\n"), "it was started anew"), (Said(data=b"", fault="Connection timed out"), "timed out")],
)
def test_a_guest_that_is_not_as_before_is_a_fault(
    after: Said, said: str, prove: Callable[..., tuple[Steps, str]], boots: list[Said]
) -> None:
    boots.append(after)
    with pytest.raises(SmokeError, match=f"on {THERE} it does not answer as before: .*{said}"):
        prove()


def test_an_empty_console_is_a_fault(prove: Callable[..., tuple[Steps, str]], nova: Hypervisors) -> None:
    nova.console = "\n \n"
    with pytest.raises(SmokeError, match="the console is empty"):
        prove()


def test_a_proxy_that_does_not_answer_is_a_fault_and_its_token_is_not_shown(
    prove: Callable[..., tuple[Steps, str]], nova: Hypervisors, lines: list[str]
) -> None:
    nova.proxy = 503
    with pytest.raises(SmokeError, match=r"the console's URL does not answer: .*503") as caught:
        prove()
    assert "t0ken" not in str(caught.value) + "".join(lines)


def test_a_cloud_without_a_console_proxy_is_no_fault_and_said(
    prove: Callable[..., tuple[Steps, str]], nova: Hypervisors, lines: list[str]
) -> None:
    prove(console=False)
    assert lines[1].endswith("no console proxy is deployed")
    assert not [one for one in nova.asked if "remote-consoles" in one]


@pytest.mark.parametrize(("value", "has"), [({}, True), ({"deployment_novncproxy": False}, False)])
def test_a_site_has_a_console_unless_its_values_take_it_away(value: dict[str, bool], has: bool) -> None:
    release = SimpleNamespace(name="nova", values={"manifests": value})
    plan: Any = SimpleNamespace(openstack=SimpleNamespace(releases=[release]))
    assert service.has_console(plan) is has


@pytest.mark.parametrize("whole", [False, True])
def test_the_further_steps_are_the_whole_playbooks_only(
    whole: bool, operator: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def moved(_tenant: Any, _server: Any, host: str, _guest: Any) -> str:
        asked.append(host)
        return THERE

    monkeypatch.setattr(thorough, "prove", moved)
    proof = walk.Proof(
        operator, replace(TenantOptions(image=tmp_path, user="guest"), thorough=whole), Steps(lambda _: None), tmp_path
    )
    for name, found in (("prepare", None), ("_instance", ({"id": "1"}, HERE)), ("floating_ip", "203.0.113.7")):
        monkeypatch.setattr(walk.Proof, name, lambda *_, _found=found, **__: _found)
    for name in ("_answers", "_metadata", "_payload"):
        monkeypatch.setattr(walk.Proof, name, lambda *_: "")
    answered = proof.walk()
    assert (asked, answered["moved_to"]) == (([HERE], THERE) if whole else ([], ""))
    assert answered["msg"].endswith(f"then moved live to {THERE}") is whole
