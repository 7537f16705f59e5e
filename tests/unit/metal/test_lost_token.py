"""A ramdisk that asked for its token and never called: Ironic gives it once, and was killed meanwhile."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal import provision as way_of
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.way import ATTEMPTS, RETRIES
from ansible_collections.groundup.cloud.tests.unit.metal.test_way import Seed, go, states

TOLD: dict[str, Any] = {"provision_state": "wait call-back", "driver_internal_info": {"agent_secret_token": "******"}}


def test_a_ramdisk_whose_token_was_lost_is_booted_anew_and_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(way_of, "LOST", 0.0)
    last = {**TOLD, "extra": {RETRIES: ATTEMPTS}}
    seed = Seed(*[{**TOLD, "extra": {RETRIES: 1}}] * 2, last, last, *states("active"))
    seed.called = {"called": 1.0, "host_keys": ["ssh-ed25519 AAAA"]}
    go(seed, tmp_path / "journal")
    assert seed.done == [f"change /extra/{RETRIES} 2", "boot m"] * 2, "no more often than deployments are tried"


@pytest.mark.parametrize("known", [{"agent_url": "https://10.0.0.64:9999"}, {"agent_secret_token_pregenerated": True}])
def test_a_ramdisk_that_called_or_brings_its_token_along_is_left_alone(
    known: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(way_of, "LOST", 0.0)
    node: dict[str, Any] = {**TOLD, "driver_internal_info": {**TOLD["driver_internal_info"], **known}}
    seed = Seed(node, node, node, *states("active"))
    seed.called = {"called": 1.0, "host_keys": ["ssh-ed25519 AAAA"]}
    go(seed, tmp_path / "journal")
    assert seed.done == []
