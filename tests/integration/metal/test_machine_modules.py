"""Modules machine and machine_info on a real Ironic: predictions that come true, diffs without secrets."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud import baremetal
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.paths import COLLECTION
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import load_site, make_plan
from ansible_collections.groundup.cloud.tests.integration.commands import run
from ansible_collections.groundup.cloud.tests.integration.metal.fake import FakeSeed
from ansible_collections.groundup.cloud.tests.integration.metal.ironic import PASSWORD, WANTED

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="a seed's programs run as root")
INTERFACES = {
    f"{kind}_interface": "fake" for kind in ("boot", "deploy", "inspect", "management", "power", "raid", "bios")
}
FIELDS = {
    "driver": "fake-hardware",
    "driver_info": {"fake_password": "of-the-bmc", "fake_address": "10.0.0.9"},
    "properties": {"cpu_arch": "x86_64"},
    **INTERFACES,
}
IMAGE = {"url": "https://10.0.2.2:6386/machine.qcow2", "sha256": "0" * 64, "format": "qcow2"}
MAC = "52:54:00:00:00:AA"
Converge = Callable[..., Changes]


@pytest.fixture(scope="module")
def seed(seed_of_fakes: FakeSeed) -> FakeSeed:
    return seed_of_fakes


@pytest.fixture(scope="module")
def clouds(seed: FakeSeed) -> Path:
    """The clouds.yaml of somebody who has a standalone Ironic."""
    path = seed.ca.with_name("clouds.yaml")
    auth = {"endpoint": WANTED["api_url"], "username": "groundup", "password": PASSWORD}
    found = {
        "auth_type": "http_basic", "auth": auth, "cacert": str(seed.ca),
        "baremetal_endpoint_override": WANTED["api_url"],
    }  # fmt: skip
    path.write_text(json.dumps({"clouds": {"seed": found}}))
    return path


@pytest.fixture
def converge(seed: FakeSeed, clouds: Path, monkeypatch: pytest.MonkeyPatch) -> Converge:
    monkeypatch.setenv("OS_CLIENT_CONFIG_FILE", str(clouds))

    def work(name: str, *, check: bool = False, **wanted: Any) -> Changes:
        changes = Changes(check=check)

        def go() -> None:
            with baremetal.opened(cloud="seed", plan=None) as proxy:
                baremetal.converge(proxy, baremetal.NodeSpec(name=name, **wanted), changes, timeout=120)

        seed.inside(go)
        return changes

    return work


def shown(seed: FakeSeed, name: str) -> dict[str, Any]:
    def read() -> list[dict[str, Any]]:
        with baremetal.opened(cloud="seed", plan=None) as proxy:
            return baremetal.facts(proxy, name)

    return (seed.inside(read) or [{}])[0]


def test_a_machine_goes_the_way_that_was_predicted_and_then_changes_no_more(seed: FakeSeed, converge: Converge) -> None:
    wanted: dict[str, Any] = {
        "state": "provisioned", "power": "on", "fields": FIELDS, "ports": [MAC], "image": IMAGE,
        "configdrive": {"meta_data": {"name": "m-1"}},
    }  # fmt: skip
    foreseen = converge("m-1", check=True, **wanted)
    assert shown(seed, "m-1") == {}, "check mode makes nothing"
    done = converge("m-1", **wanted)
    steps = ["make m-1", f"make port {MAC.lower()} of m-1", "manage m-1", "provide m-1", "active m-1"]
    assert done.done[:5] == foreseen.done[:5] == steps
    assert done.done[5:] in ([], ["switch m-1 on"])
    found = shown(seed, "m-1")
    assert (found["provision_state"], found["power_state"]) == ("active", "power on")
    assert found["ports"] == [MAC.lower()]
    assert found["instance_info"]["image_source"] == IMAGE["url"]
    assert converge("m-1", **wanted).done == []
    assert converge("m-1", check=True, power="off").done == ["switch m-1 off"]
    assert converge("m-1", power="off").done == ["switch m-1 off"]
    assert converge("m-1", check=True, power="off").done == []
    assert converge("m-1", state="available", force=True).done == ["deleted m-1"]
    assert shown(seed, "m-1")["provision_state"] == "available"


def test_no_secret_is_in_a_diff_and_only_what_differs_is_set(seed: FakeSeed, converge: Converge) -> None:
    made = converge("m-2", fields=FIELDS)
    assert "of-the-bmc" not in json.dumps(made.result())
    assert converge("m-2", fields=FIELDS).done == []
    other = {**FIELDS, "driver_info": {"fake_address": "10.0.0.10"}, "extra": {"rack": "r1"}}
    changed = converge("m-2", fields=other)
    assert changed.done == ["set driver_info.fake_address, extra.rack of m-2"]
    assert json.loads(changed.diffs[0]["before"]) == {"driver_info.fake_address": "10.0.0.9", "extra.rack": None}
    assert json.loads(changed.diffs[0]["after"]) == {"driver_info.fake_address": "10.0.0.10", "extra.rack": "r1"}
    found = shown(seed, "m-2")
    assert found["driver_info"] == {"fake_password": "******", "fake_address": "10.0.0.10"}


def test_a_system_is_taken_away_or_forgotten_by_force_alone(seed: FakeSeed, converge: Converge) -> None:
    converge("m-4", state="provisioned", fields=FIELDS, image=IMAGE)
    for check in (True, False):
        with pytest.raises(GroundupError, match="m-4 is provisioned"):
            converge("m-4", state="available", check=check)
        with pytest.raises(GroundupError, match="m-4 is active"):
            converge("m-4", state="absent", check=check)
    assert converge("m-4", state="manageable", force=True, check=True).done == ["deleted m-4", "manage m-4"]
    assert converge("m-4", state="absent", force=True, check=True).done == ["forget m-4"]
    assert shown(seed, "m-4")["provision_state"] == "active"
    assert converge("m-4", state="absent", force=True).done == ["forget m-4"]
    assert converge("m-4", state="absent").done == []
    assert shown(seed, "m-4") == {}


def test_what_cannot_be_is_an_error_that_names_the_machine(converge: Converge) -> None:
    with pytest.raises(GroundupError, match="Ironic does not know m-6"):
        converge("m-6", state="available")
    with pytest.raises(GroundupError, match="no-such-driver"):
        converge("m-6", fields={"driver": "no-such-driver"})


def test_the_ironic_of_a_site_is_reached_by_its_site_file(
    seed: FakeSeed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GROUNDUP_STATE", str(tmp_path))
    monkeypatch.setenv("ANSIBLE_VAULT_PASSWORD_FILE", str(tmp_path / "password"))
    (tmp_path / "password").write_text("of this test")
    plan = make_plan(load_site(COLLECTION / "inventories/lab-metal/site.yml"))
    assert plan.metal
    plan = replace(plan, metal=replace(plan.metal, api_url=WANTED["api_url"]))

    def read() -> list[dict[str, Any]]:
        with baremetal.opened(cloud=None, plan=plan) as proxy:
            return baremetal.facts(proxy, "nobody")

    with pytest.raises(GroundupError, match="is not made yet"):
        read()
    monkeypatch.setattr(baremetal, "open_store", lambda *_given, **_more: _Store())
    (tmp_path / plan.site / "ca.crt").parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / plan.site / "ca.crt").write_text(seed.ca.read_text())
    assert seed.inside(read) == []


class _Store:
    def items(self) -> dict[str, str]:
        return {"ironic/groundup": PASSWORD}


def test_the_modules_as_a_play_calls_them(seed: FakeSeed, clouds: Path, tmp_path: Path) -> None:
    reach = {"cloud": "seed"}
    machine = {
        **reach, "name": "m-7", "state": "available", "driver": "fake-hardware",
        "driver_info": {"fake_password": "of-the-bmc"},
        "interfaces": {name.removesuffix("_interface"): value for name, value in INTERFACES.items()},
    }  # fmt: skip
    tasks = [
        {"name": "Make", "groundup.cloud.machine": machine},
        {"name": "Again", "groundup.cloud.machine": machine},
        {"name": "Read", "groundup.cloud.machine_info": {**reach, "name": "m-7"}, "register": "found"},
        {"name": "All", "groundup.cloud.machine_info": reach, "register": "every"},
        {
            "name": "Judge",
            "ansible.builtin.assert": {
                "that": [
                    "found.machines[0].provision_state == 'available'",
                    "'m-7' in every.machines | map(attribute='name')",
                ]
            },
        },
    ]
    play = tmp_path / "play.yml"
    play.write_text(json.dumps([{"hosts": "localhost", "gather_facts": False, "tasks": tasks}]))
    words = ["ansible-playbook", "-i", "localhost,", str(play), "--diff", "-v"]
    done = seed.inside(lambda: run(*words, OS_CLIENT_CONFIG_FILE=clouds))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "changed=1 " in done.stdout
    assert "of-the-bmc" not in done.stdout + done.stderr
