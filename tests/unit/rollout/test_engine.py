"""What is kept of a release's time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.compose import site_plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.paths import COLLECTION
from ansible_collections.groundup.cloud.plugins.plugin_utils.rollout import engine
from ansible_collections.groundup.cloud.plugins.plugin_utils.rollout.apply.deploy import DeployResult


def test_waiting_for_a_turn_is_nothing_that_a_release_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    nothing: Any = SimpleNamespace(items=dict)
    rollout = engine.Rollout(
        plan=site_plan(COLLECTION / "inventories/cloud/site.yml"), api=None, helm=nothing, processes=nothing,
        secrets=nothing, authority=Path(), say=print,
    )  # fmt: skip

    @contextmanager
    def hold(*_: str) -> Iterator[None]:
        clock[0] += 60
        yield

    def deploy(*_: object) -> DeployResult:
        clock[0] += 5
        return DeployResult(changed=True)

    monkeypatch.setattr(engine, "deploy", deploy)
    monkeypatch.setattr(engine, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    monkeypatch.setattr(rollout._limits, "hold", hold)
    assert rollout._one(rollout._releases["glance"], (), nothing, nothing)[1] == 5
