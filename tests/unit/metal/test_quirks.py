"""What vendors' controllers do differently is data, chosen by what a controller says of itself."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._ironic import configuration
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.quirks import (
    QUIRKS,
    boot_of,
    changes_for,
    pause_before,
)
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.way import RETRIES
from ansible_collections.groundup.cloud.tests.unit.metal.test_way import Seed, go, states, wanted

MEDIA = "redfish-virtual-media"


def node(vendor: str | None, **more: Any) -> dict[str, Any]:
    return {"driver": "redfish", "properties": {"vendor": vendor} if vendor else {}, **more}


def test_a_controller_of_dell_s_is_driven_by_its_own_driver_and_asked_for_once() -> None:
    dell = node("Dell Inc.")
    assert changes_for(dell, boot=MEDIA) == {
        "/driver": "idrac",
        "/management_interface": "idrac-redfish",
        "/power_interface": "idrac-redfish",
        "/boot_interface": "idrac-redfish-virtual-media",
    }
    assert changes_for(dell, boot="ipxe")["/boot_interface"] == "ipxe"
    assert changes_for(dell | {"driver": "idrac"}, boot=MEDIA) == {}
    assert boot_of(dell, MEDIA) == MEDIA
    assert boot_of(dell | {"driver": "idrac"}, MEDIA) == "idrac-redfish-virtual-media", "asked again: it stays"


@pytest.mark.parametrize("vendor", [None, "", "HPE", "Lenovo", "Dellinger", "x" * 100_000])
def test_one_that_is_not_in_the_table_is_driven_as_redfish_says(vendor: str | None) -> None:
    assert changes_for(node(vendor), boot=MEDIA) == {}


def test_only_a_failure_of_power_waits_before_the_next_attempt() -> None:
    failed = node("Dell Inc.", provision_state="deploy failed")
    assert pause_before(failed | {"last_error": "Failed to change power state to 'power on'"}) == 75
    assert pause_before(failed | {"last_error": "checksum"}) == 0
    assert pause_before(node("HPE", provision_state="deploy failed", last_error="power")) == 0


def test_ironic_has_every_driver_and_interface_that_the_table_names() -> None:
    enabled = dict(re.findall(r"^enabled_(\w+) = (.*)$", configuration.CONF_TEXT, re.MULTILINE))
    for quirk in QUIRKS:
        for name, value in quirk.node.items():
            kind = "hardware_types" if name == "driver" else f"{name}s"
            assert value in enabled[kind].split(",")
        assert set(quirk.boot) | set(quirk.boot.values()) <= set(enabled["boot_interfaces"].split(","))


def test_the_driver_is_chosen_before_the_machine_is_switched_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slept: list[float] = []
    monkeypatch.setattr("time.sleep", slept.append)
    dell = node("Dell Inc.", provision_state="manageable")
    power = {"provision_state": "deploy failed", "last_error": "power on failed", "extra": {RETRIES: 1}}
    seed = Seed(dell, node("Dell Inc.", **power), *states("active"))
    changed: list[set[str]] = []
    change = seed.change

    def spied(identity: str, fields: dict[str, Any]) -> None:
        changed.append(set(fields))
        change(identity, fields)

    seed.change = spied  # type: ignore[method-assign,assignment]
    go(seed, tmp_path / "journal", work=wanted())
    assert "/driver" in changed[0]
    assert seed.done[0] == "inspect"
    assert 75 in slept
