"""New hypervisors are opened to tenants when an instance on them answered; what others disabled stays disabled."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.action import hypervisors as action
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.plugin_utils import guest_image
from ansible_collections.groundup.cloud.plugins.plugin_utils.actions import documented
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud import connection, faults, probe
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud.administrator import UnreachedError
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud.guest import Guest, Said
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud.steps import SmokeError, Steps
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud.tenant import TenantOptions
from ansible_collections.groundup.cloud.plugins.plugin_utils.compose import site_plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError

from .fake import ADMIN, FakeCloud, left
from .fake_hosts import DISABLED

PLAN = site_plan(Path(__file__).resolve().parents[3] / "inventories/cloud/site.yml")


@pytest.fixture(autouse=True)
def silent(monkeypatch: pytest.MonkeyPatch, fake: FakeCloud) -> list[str]:
    """Return a list: while it holds a word, guests do not answer."""
    fault: list[str] = []
    fake.add("networks", {"name": "provider", "router:external": True}, ADMIN)
    monkeypatch.setattr(faults, "said_by", lambda *_, **_more: Said(data=b""))
    monkeypatch.setattr(Guest, "ask", lambda *_, **_more: Said(data=b"guest\n", fault="".join(fault)))
    return fault


@pytest.fixture
def options(tmp_path: Path) -> TenantOptions:
    image = tmp_path / "guest.qcow2"
    image.write_bytes(b"QFI")
    return TenantOptions(image=image, user="guest", timeout=0.2)


def run(admin: Any, options: TenantOptions, *hosts: str, limit: int = 8) -> dict[str, str]:
    """Return what is wrong by host; "": nothing."""
    found = probe.probe(admin, options, Steps(lambda _: None), hosts, limit=limit)
    return {host: fault.what.splitlines()[0] if fault else "" for host, fault in found.items()}


def test_who_is_new_and_who_was_disabled_by_somebody(admin: Any, fake: FakeCloud) -> None:
    for host, reason in {"open": None, "new": probe.NEW, "again": f"{probe.FAILED}no ssh", "drained":
                         "groundup.cloud.drain", "nameless": "", "theirs": "memory is broken"}.items():  # fmt: skip
        fake.hosts.join(host, reason=reason)
    found = probe.standing(admin, ["open", "new", "again", "drained", "nameless", "theirs", "never-seen"])
    assert found.new == ("new", "again")
    assert found.kept == {"nameless": "no reason is given", "theirs": "memory is broken"}
    assert "never-seen" not in found.services


def test_hosts_that_answer_are_opened_and_nothing_stays(admin: Any, fake: FakeCloud, options: TenantOptions) -> None:
    for host in ("a", "b", "c"):
        fake.hosts.join(host, reason=probe.NEW)
    assert run(admin, options, "a", "b", "c", limit=2) == {"a": "", "b": "", "c": ""}
    assert fake.hosts.disabled() == {}
    assert left(fake) == []
    # Two, then one: a batch's instances are gone before the next one's are made.
    asked = [one.split("/")[0] for one in fake.asked if one.startswith(("POST servers", "DELETE servers"))]
    assert asked == ["POST servers"] * 2 + ["DELETE servers"] * 2 + ["POST servers", "DELETE servers"]


def test_a_host_that_fails_stays_closed_with_the_reason_and_others_open(
    admin: Any, fake: FakeCloud, options: TenantOptions
) -> None:
    for host in ("a", "bad"):
        fake.hosts.join(host, reason=probe.NEW)
    fake.hosts.broken.add("bad")
    found = run(admin, options, "a", "bad")
    assert (found["a"], "Build of instance aborted" in found["bad"]) == ("", True)
    assert list(fake.hosts.disabled()) == ["bad"]
    assert fake.hosts.disabled()["bad"].startswith(probe.FAILED)
    assert left(fake) == []
    fake.hosts.broken.clear()  # mended: the next run tries again
    assert probe.standing(admin, ["a", "bad"]).new == ("bad",)
    assert run(admin, options, "bad") == {"bad": ""}
    assert fake.hosts.disabled() == {}


def test_a_host_whose_guest_is_silent_stays_closed(
    admin: Any, fake: FakeCloud, options: TenantOptions, silent: list[str]
) -> None:
    fake.hosts.join("a", reason=probe.NEW)
    silent.append("Connection timed out")
    assert "no ssh at 203.0.113.7" in run(admin, options, "a")["a"]
    assert "no ssh at 203.0.113.7" in fake.hosts.disabled()["a"]
    assert left(fake) == []


def test_an_instance_goes_to_a_host_that_its_service_keeps_closed(
    admin: Any, fake: FakeCloud, options: TenantOptions
) -> None:
    """The trait goes for the moment of scheduling, again when nova-compute wrote it meanwhile; the service stays."""
    fake.hosts.join("a", reason=probe.NEW)
    fake.hosts.closes = 2
    # Two more tries, whatever else this machine does: a short limit is over after the first.
    assert run(admin, replace(options, timeout=60), "a") == {"a": ""}
    assert fake.asked.count("POST servers") == 3
    assert left(fake) == []


def test_it_gives_up_when_the_host_is_closed_again_and_again(
    admin: Any, fake: FakeCloud, options: TenantOptions
) -> None:
    fake.hosts.join("a", reason=probe.NEW)
    fake.hosts.closes = 99
    assert "No valid host" in run(admin, options, "a")["a"]
    assert DISABLED in fake.hosts.traits["uuid-a"]
    assert left(fake) == []


def test_who_is_disabled_by_somebody_during_the_probe_stays_so(
    admin: Any, fake: FakeCloud, options: TenantOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake.hosts.join("a", reason=probe.NEW)

    def ask(*_: Any, **_more: Any) -> Said:
        fake.of("services")[0]["disabled_reason"] = "do not touch"
        return Said(data=b"guest\n")

    monkeypatch.setattr(Guest, "ask", ask)
    assert run(admin, options, "a") == {}
    assert fake.hosts.disabled() == {"a": "do not touch"}


@pytest.mark.parametrize("times", [1, 99])
def test_an_error_while_an_instance_is_awaited_is_no_fault_of_a_batch(
    admin: Any, fake: FakeCloud, options: TenantOptions, monkeypatch: pytest.MonkeyPatch, times: int
) -> None:
    """Nova is asked again; what lasts is the fault of the host that it is asked about."""
    fake.hosts.join("a", reason=probe.NEW)
    get, left_over = probe._Batch._pending, [times]

    def pending(batch: Any, host: str) -> bool:
        fake.refuses.clear()
        if left_over[0]:
            left_over[0] -= 1
            fake.refuses["GET servers"] = (500, "a worker was killed")
        return get(batch, host)

    monkeypatch.setattr(probe._Batch, "_pending", pending)
    deletes = probe._Batch._delete

    def delete(batch: Any) -> None:
        fake.refuses.clear()
        deletes(batch)

    monkeypatch.setattr(probe._Batch, "_delete", delete)
    assert ("a worker was killed" in run(admin, replace(options, timeout=3), "a")["a"]) is (times > 1)
    assert left(fake) == []


def test_a_fault_of_no_single_host_opens_and_blames_nobody(admin: Any, fake: FakeCloud, options: TenantOptions) -> None:
    fake.hosts.join("a", reason=probe.NEW)
    fake.refuses["POST images"] = (500, "no room for images")
    with pytest.raises(SmokeError, match="no room for images"):
        run(admin, options, "a")
    assert fake.hosts.disabled() == {"a": probe.NEW}
    assert left(fake) == []


def test_a_signal_ends_it_and_nothing_stays(
    admin: Any, fake: FakeCloud, options: TenantOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake.hosts.join("a", reason=probe.NEW)
    monkeypatch.setattr(Guest, "ask", lambda *_, **_more: os.kill(os.getpid(), 15))
    with pytest.raises(KeyboardInterrupt, match="SIGTERM"):
        run(admin, options, "a")
    assert fake.hosts.disabled() == {"a": probe.NEW}
    assert left(fake) == []


def test_whoever_is_killed_leaves_somebody_new(
    admin: Any, fake: FakeCloud, options: TenantOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So the next run looks for what was left: hosts of the last batch are opened when all is deleted."""
    for host in ("a", "b"):
        fake.hosts.join(host, reason=probe.NEW)
    guests: list[str] = []

    def ask(*_: Any, **_more: Any) -> Said:
        guests.append("asked")
        if len(guests) == 2:
            os.kill(os.getpid(), 15)
        return Said(data=b"guest\n")

    monkeypatch.setattr(Guest, "ask", ask)
    with pytest.raises(KeyboardInterrupt):
        run(admin, options, "a", "b", limit=1)
    assert fake.hosts.disabled() == {"b": probe.NEW}
    fake.asked.clear()
    run(admin, options, "b")
    deleted = max(number for number, one in enumerate(fake.asked) if one.startswith("DELETE projects"))
    assert fake.asked.index("PUT os-services/service-b") > deleted


@pytest.fixture
def module(admin: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(connection, "of_site", lambda _: admin)
    monkeypatch.setattr(guest_image, "ensure", lambda *_, **_more: pytest.fail("the image is named"))
    made = action.ActionModule.__new__(action.ActionModule)
    made._display = type("Display", (), {"display": staticmethod(lambda _: None)})()
    return made


def prove(module: Any, options: TenantOptions, *hosts: str) -> dict[str, Any]:
    given = {name: option.get("default") for name, option in documented("hypervisors").items()}
    given |= {"hosts": list(hosts), "image": str(options.image), "timeout": 0.2}
    found: dict[str, Any] = module._prove(PLAN, given, Steps(lambda _: None))
    return found


def test_an_unchanged_run_boots_nothing(
    module: Any, fake: FakeCloud, options: TenantOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(probe, "within", lambda *_: pytest.fail("nobody is new"))
    fake.hosts.join("a")
    fake.hosts.join("b", reason="drained")
    found = prove(module, options, "a", "b")
    assert (found["changed"], found["enabled"], found["aside"]) == (False, [], [])
    assert found["warnings"] == ["b stays disabled, by somebody's word: drained"]
    assert probe.verify(PLAN, ["a", "b"]).kept == {"b": "drained"}
    assert not [one for one in fake.asked if one.startswith("POST") and "auth" not in one]


def test_who_fails_is_set_aside_with_its_card(module: Any, fake: FakeCloud, options: TenantOptions) -> None:
    for host in ("a", "bad"):
        fake.hosts.join(host, reason=probe.NEW)
    fake.hosts.broken.add("bad")
    found = prove(module, options, "a", "bad")
    assert (found["changed"], found["enabled"]) == (True, ["a"])
    assert sorted(found["changes"]) == ["enable a", "note why bad stays disabled"]
    (card,) = found["aside"]
    assert (card["host"], card["layer"]) == ("bad", "hypervisor")
    assert "Build of instance aborted" in card["reason"]
    assert "journalctl -u nova-compute on bad" in card["remedy"]


@pytest.mark.usefixtures("module")
def test_verify_names_who_waits_to_be_proven(fake: FakeCloud) -> None:
    fake.hosts.join("a", reason=probe.NEW)
    with pytest.raises(GroundupError, match="no instance has answered yet on a"):
        probe.verify(PLAN, ["a"])
    assert fake.hosts.disabled() == {"a": probe.NEW}


@pytest.mark.usefixtures("module")
def test_a_dry_run_says_who_will_be_probed(fake: FakeCloud, monkeypatch: pytest.MonkeyPatch) -> None:
    for host, reason in {"open": None, "new": probe.NEW, "drained": "drained"}.items():
        fake.hosts.join(host, reason=reason)

    def foreseen(*hosts: str) -> list[str]:
        changes = Changes(check=True)
        probe.foresee(PLAN, hosts, changes)
        return changes.done

    assert foreseen("open", "new", "drained", "to-come") == ["probe new, and enable it", "probe to-come, and enable it"]
    assert foreseen("open", "drained") == []

    def nobody(_: Any) -> Any:
        raise UnreachedError("no cloud yet", where="here", why="nothing was made", remedy="make it")

    monkeypatch.setattr(connection, "of_site", nobody)
    assert foreseen("a") == ["probe a, and enable it"]
    assert not [one for one in fake.asked if one.startswith("POST") and "auth" not in one]
