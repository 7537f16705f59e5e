"""What the rollout's action says of a change, without a cluster."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.action.rollout import ActionModule
from ansible_collections.groundup.cloud.plugins.plugin_utils.rollout.types import (
    GateReason,
    ReleaseReport,
    RolloutResult,
)

SHRINKS = GateReason(
    code="volume-shrink", release="mariadb", what="from 20Gi to 10Gi", why="it cannot", remedy="keep at least 20Gi"
)


def check(*force: str) -> dict[str, Any]:
    report = ReleaseReport(name="mariadb", state="waiting", changed=True, seconds=0.0)
    predicted = RolloutResult(releases=(report,), diffs=(), reasons=(SHRINKS,), cards=(), facts={})

    def not_asked_for() -> RolloutResult:
        pytest.fail("a check only predicts")

    rollout = SimpleNamespace(check=lambda: predicted, apply=not_asked_for, verify=not_asked_for)
    opened: Any = SimpleNamespace(claim=lambda **_: (), rollout=rollout)
    action: Any = ActionModule.__new__(ActionModule)
    action._task = SimpleNamespace(diff=False)
    action._display = SimpleNamespace(display=lambda _line: None)
    found: dict[str, Any] = action._carry_out("check", opened, force)
    return found


def test_a_check_fails_where_the_gate_would_refuse_the_change() -> None:
    refused = check()
    assert refused["failed"]
    assert "volume-shrink" in refused["msg"]
    assert "rollout_force=volume-shrink:mariadb" in refused["msg"]
    assert [reason["code"] for reason in refused["reasons"]] == ["volume-shrink"]
    assert refused["releases"][0]["name"] == "mariadb"


def test_a_check_takes_what_was_accepted_as_the_rollout_does() -> None:
    accepted = check("volume-shrink:mariadb")
    assert not accepted["failed"]
    assert accepted["changed"]
