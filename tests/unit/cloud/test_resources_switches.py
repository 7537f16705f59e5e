"""What an operator switched off stays off, and is shown; what the site file writes is obeyed."""

from __future__ import annotations

import copy
import hashlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud.resources import export
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.model.cloud import CloudResources
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.platform.resources import of_cloud

from .resources_api import Apis
from .test_resources import CLOUD, plan, run

# Kind -> what an operator did, where the site file writes it, what it writes.
BY_HAND: dict[str, tuple[dict[str, Any], str]] = {
    "domain": ({"enabled": False}, "enabled"),
    "project": ({"enabled": False}, "enabled"),
    "network": ({"admin_state_up": False}, "enabled"),
    "router": ({"admin_state_up": False}, "enabled"),
    "subnet": ({"enable_dhcp": False}, "dhcp"),
    "image": ({"status": "deactivated"}, "enabled"),
}
ALSO: dict[str, dict[str, Any]] = {  # without a word in the site file that sets it back
    "flavor": {"OS-FLV-DISABLED:disabled": True},
    "image": {"os_hidden": True},
}


@pytest.fixture(scope="module")
def base() -> Plan:
    return plan({})


def cloud(disk: Path) -> dict[str, Any]:
    disk.write_bytes(b"a disk")
    image = {"source": str(disk), "sha256": hashlib.sha256(b"a disk").hexdigest()}
    return {**copy.deepcopy(CLOUD), "images": {"debian": image}, "volume_types": {"gold": {}}}


def planned(base: Plan, written: dict[str, Any]) -> Plan:
    return replace(base, resources=of_cloud(CloudResources.model_validate(written)))


def place(written: dict[str, Any], kind: str) -> dict[str, Any]:
    """Return what the site file has of the first of a kind."""
    web = written["projects"]["web"]
    front = web["networks"]["front"]
    places: dict[str, dict[str, Any]] = {
        "domain": written["domains"]["acme"], "project": web, "network": front, "router": web["routers"]["out"],
        "subnet": front["subnets"]["front4"], "image": written["images"]["debian"],
    }  # fmt: skip
    return places[kind]


def ours(apis: Apis, kind: str) -> dict[str, Any]:
    return next(one for one in apis.objects[kind] if "created_at" in one)


@pytest.mark.parametrize("kind", BY_HAND)
def test_a_hand_is_left_and_shown_until_the_site_file_says_otherwise(tmp_path: Path, base: Plan, kind: str) -> None:
    apis, written, (hand, key) = Apis(), cloud(tmp_path / "disk"), BY_HAND[kind]
    run(apis, planned(base, written))
    ours(apis, kind).update(hand)
    (field, value), before = *hand.items(), copy.deepcopy(apis.objects)
    for check in (True, False):
        found = run(apis, planned(base, written), check=check)
        assert (found.done, apis.objects) == ([], before)
        (told,) = found.warnings
        assert f"{field} is {value}, and stays so: the site file does not write {key}" in told
    place(written, kind)[key] = False
    found = run(apis, planned(base, written))
    assert (found.done, found.warnings, apis.objects) == ([], [], before)
    place(written, kind)[key] = True
    assert len(run(apis, planned(base, written)).done) == 1
    assert ours(apis, kind)[field] != value
    place(written, kind)[key] = False
    assert len(run(apis, planned(base, written)).done) == 1
    assert ours(apis, kind)[field] == value


@pytest.mark.parametrize("kind", ALSO)
def test_a_flag_without_a_word_in_the_site_file_is_left_and_shown(tmp_path: Path, base: Plan, kind: str) -> None:
    apis, written = Apis(), planned(base, cloud(tmp_path / "disk"))
    run(apis, written)
    ours(apis, kind).update(ALSO[kind])
    before = copy.deepcopy(apis.objects)
    found = run(apis, written)
    assert (found.done, apis.objects) == ([], before)
    assert f"{next(iter(ALSO[kind]))} is True, and stays so" in found.warnings[0]


def test_an_image_made_private_and_a_type_made_private_by_hand_stay_so(tmp_path: Path, base: Plan) -> None:
    apis, written = Apis(), cloud(tmp_path / "disk")
    run(apis, planned(base, written))
    assert ours(apis, "image")["visibility"] == "public"
    ours(apis, "image")["visibility"] = "private"
    ours(apis, "volume_type").update({"is_public": False, "os-volume-type-access:is_public": False})
    found = run(apis, planned(base, written))
    assert found.done == []
    assert [line.partition(" is ")[0] for line in found.warnings] == [
        "volume type gold: os-volume-type-access:is_public",
        "image debian of domain Default: visibility",
    ]
    written["images"]["debian"]["visibility"] = "public"
    assert run(apis, planned(base, written)).done == ["change image debian of domain Default: visibility"]


def test_an_account_that_is_switched_off_stays_so(base: Plan) -> None:
    written = copy.deepcopy(CLOUD)
    written["projects"]["web"]["credentials"] = {"ci": {"roles": ["member"], "enabled": False}}
    (account,) = [one for one in planned(base, written).resources if one.kind == "account"]
    assert account.values["enabled"] is False
    del written["projects"]["web"]["credentials"]["ci"]["enabled"]
    (account,) = [one for one in planned(base, written).resources if one.kind == "account"]
    assert "enabled" not in account.values


def test_what_is_off_is_exported_as_off(tmp_path: Path, base: Plan) -> None:
    apis, written = Apis(), planned(base, cloud(tmp_path / "disk"))
    run(apis, written)
    for kind, field in (("project", "enabled"), ("network", "admin_state_up"), ("router", "admin_state_up")):
        ours(apis, kind)[field] = False
    text = export.text(apis, base, "web", domain="acme", form="site")
    assert text.count("enabled: false") == 3
    text = export.text(apis, base, "web", domain="acme", form="orc")
    assert text.count("adminStateUp: false") == 2
