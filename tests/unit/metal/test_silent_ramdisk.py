"""A ramdisk that fell silent while it installs: its power and so its certificate was lost, or its token."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal import provision as way_of
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.way import ATTEMPTS, RETRIES, WayStep
from ansible_collections.groundup.cloud.tests.unit.metal.test_way import Seed, go, states

ASKED = {"agent_secret_token": "******"}
CALLED = {**ASKED, "agent_url": "https://10.0.0.64:9999", "agent_last_heartbeat": "2026-11-23T13:00:00"}


def told(known: dict[str, Any], *, attempt: int = 1) -> dict[str, Any]:
    """Return a node that installs, by what Ironic knows of its ramdisk."""
    return {"provision_state": "wait call-back", "driver_internal_info": known, "extra": {RETRIES: attempt}}


@pytest.fixture
def limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """No silence is short enough."""
    monkeypatch.setattr(way_of, "LOST", 0.0)
    monkeypatch.setattr(way_of, "SILENT", 0.0)


def done(tmp_path: Path, *nodes: dict[str, Any]) -> list[str]:
    """Return what was asked of Ironic until the machine was installed."""
    seed = Seed(*nodes, *states("active"))
    seed.called = {"called": 1.0, "host_keys": ["ssh-ed25519 AAAA"]}
    go(seed, tmp_path / "journal")
    return seed.done


@pytest.mark.usefixtures("limits")
@pytest.mark.parametrize("known", [ASKED, CALLED])
def test_its_machine_is_installed_anew_no_more_often_than_others(known: dict[str, Any], tmp_path: Path) -> None:
    anew = ["deleted", "expect m", f"change /extra/{RETRIES} 2", "active"]
    available = {"provision_state": "available", "extra": {RETRIES: 1}}
    assert done(tmp_path, told(known), *states("deleting", "cleaning"), available) == anew
    assert done(tmp_path, told(known, attempt=ATTEMPTS)) == []


@pytest.mark.usefixtures("limits")
@pytest.mark.parametrize("known", [{}, {**ASKED, "agent_secret_token_pregenerated": True}])
def test_one_that_was_never_heard_boots_for_as_long_as_ironic_lets_it(known: dict[str, Any], tmp_path: Path) -> None:
    assert done(tmp_path, told(known)) == []


def test_one_that_goes_on_calling_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    waits, ramdisk = WayStep(state="provisioning", verb="wait"), way_of._Ramdisk()
    for minute in range(10):
        monkeypatch.setattr("time.monotonic", lambda now=minute * 100.0: now)
        call = told({**CALLED, "agent_last_heartbeat": f"2026-11-23T13:{minute // 3:02}:00"})
        assert ramdisk.judged(call, waits) is waits, minute


WAITS = WayStep(state="provisioning", verb="wait")


def heard_by(signs: dict[float, dict[str, Any]], *, every: float, monkeypatch: pytest.MonkeyPatch) -> float:
    """Return when an installation is taken back whose last sign is of ``signs``, by the second; 0: within 900 s never.

    Ironic is killed ``every`` so many seconds, and is away for 15.
    """
    ramdisk, known = way_of._Ramdisk(), dict[str, Any]()
    for now in range(5, 900, 5):
        monkeypatch.setattr("time.monotonic", lambda now=now: float(now))
        if now % every < 15:
            ramdisk.unheard()
            continue
        known = max((one for one in signs.items() if one[0] <= now), key=lambda one: one[0])[1]
        if ramdisk.judged(told(known), WAITS) is not WAITS:
            return now
    return 0


@pytest.mark.parametrize("every", [60, 160])
def test_a_token_that_was_lost_is_seen_however_often_ironic_is_killed(
    every: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert way_of.LOST < heard_by({0: ASKED}, every=every, monkeypatch=monkeypatch) <= 600


def test_one_whose_call_nobody_heard_has_time_for_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    # It calls every 180 s at most, and Ironic is away at its call in second 450.
    calls = {0.0: ASKED} | {at: {**CALLED, "agent_last_heartbeat": str(at)} for at in (90.0, 270.0, 630.0, 810.0)}
    assert heard_by(calls, every=450, monkeypatch=monkeypatch) == 0
