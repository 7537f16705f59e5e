"""The tables of roles, purposes, backends, provisioners, package sets and layers: each names what exists, in order."""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_args

import pytest
import yaml
from ansible_collections.groundup.cloud.plugins.plugin_utils.layers import page
from ansible_collections.groundup.cloud.plugins.plugin_utils.layers.layers import LAYERS
from ansible_collections.groundup.cloud.plugins.plugin_utils.layers.provisioners import PROVISIONERS, Provisioner
from ansible_collections.groundup.cloud.plugins.plugin_utils.layers.purposes import PURPOSES, Purpose
from ansible_collections.groundup.cloud.plugins.plugin_utils.layers.roles import ROLES, Role
from ansible_collections.groundup.cloud.plugins.plugin_utils.layers.storage import BACKENDS, Backend
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.layout.profiles import HARDWARE, PROFILES
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.model.site import ProfileName
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.lock.model import load_lock

ROOT = Path(__file__).resolve().parents[3]
BUILT = [name for name, layer in LAYERS.items() if not layer.unsupported]


def plays(name: str) -> list[dict[str, Any]]:
    """Return the plays of a playbook."""
    found: list[dict[str, Any]] = yaml.safe_load((ROOT / f"playbooks/{name}.yml").read_text())
    return found


@pytest.mark.parametrize(
    ("table", "names"),
    [
        (ROLES, Role), (PURPOSES, Purpose), (BACKENDS, Backend), (PROVISIONERS, Provisioner), (PROFILES, ProfileName),
    ],
    ids=["roles", "purposes", "backends", "provisioners", "profiles"],
)  # fmt: skip
def test_every_name_has_a_record(table: dict[str, Any], names: Any) -> None:
    assert tuple(table) == get_args(names)


def test_shares_of_a_network_do_not_meet_and_leave_the_first_for_routers() -> None:
    ends = [end for record in ROLES.values() for end in record.share]
    assert ends == sorted(ends)
    assert (ends[0], ends[-1]) == (1, 32)


def test_every_role_has_hardware_in_every_profile() -> None:
    for record in ROLES.values():
        assert set(record.hardware) == set(PROFILES)
        assert set(record.hardware.values()) <= set(HARDWARE)


def test_hosts_of_the_lab_come_with_every_package_of_the_table() -> None:
    inputs = load_lock().artifacts["rootfs-host"].inputs
    for name, layer in LAYERS.items():
        for one in layer.installs:
            assert set(one.packages) <= set(inputs["packages"]), name


def test_plain_hosts_come_with_no_package_that_a_layer_installs_but_what_every_debian_has() -> None:
    artifacts, every = load_lock().artifacts, {"iproute2"}
    for name in load_lock().groups["plain"]:
        packages = set(artifacts[name].inputs["packages"])
        for layer in LAYERS.values():
            assert packages.isdisjoint({*(p for one in layer.installs for p in one.packages)} - every), name
        assert "files" not in artifacts[name].inputs, name


def test_a_layer_stands_on_layers_before_it() -> None:
    before: set[str] = set()
    for name, layer in LAYERS.items():
        assert set(layer.needs) <= before, name
        before.add(name)


def test_backends_name_layers() -> None:
    assert {one.layer for one in BACKENDS.values()} <= {None, *LAYERS}


def test_the_site_is_its_layers_in_the_order_of_the_table() -> None:
    imported = [play["ansible.builtin.import_playbook"] for play in plays("site") if len(play) == 2]
    assert imported == [f"groundup.cloud.{name}" for name in BUILT], "playbooks/site.yml"


@pytest.mark.parametrize("name", [name for name in BUILT if name != "plan"])
def test_a_layer_starts_with_preflight_and_has_its_verbs(name: str) -> None:
    first, *rest = plays(name)
    assert first["ansible.builtin.import_playbook"] == "groundup.cloud.preflight"
    tags = {tag for play in rest for part in (play, *play.get("tasks", ())) for tag in part.get("tags", ())}
    assert tags - {"never"} == {"check", "apply", "verify"}
    groups = {play["hosts"].removesuffix(":!absent") for play in rest if "hosts" in play}
    assert LAYERS[name].group in groups, "the record names the group its plays run on"


def test_the_table_of_layers_in_the_documentation_is_fresh() -> None:
    assert (ROOT / page.PAGE).read_text() == page.page(ROOT), f"run ci/run python -m {page.__name__}"
