"""The tables of roles, purposes, backends, provisioners, package sets and layers: each names what exists, in order."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, get_args

import pytest
import yaml
from ansible_collections.groundup.cloud.ci import reference
from ansible_collections.groundup.cloud.ci.reference import tables
from ansible_collections.groundup.cloud.plugins.module_utils._host import clock, trust, updates
from ansible_collections.groundup.cloud.plugins.module_utils._plan.ceph import Backend
from ansible_collections.groundup.cloud.plugins.module_utils._plan.container import Purpose
from ansible_collections.groundup.cloud.plugins.plugin_utils.layers.layers import (
    ALERTMANAGER,
    JOURNAL_UPLOAD,
    LAYERS,
    LOG_DOOR,
)
from ansible_collections.groundup.cloud.plugins.plugin_utils.layers.provisioners import PROVISIONERS, Provisioner
from ansible_collections.groundup.cloud.plugins.plugin_utils.layers.purposes import PURPOSES
from ansible_collections.groundup.cloud.plugins.plugin_utils.layers.roles import ROLES, Role
from ansible_collections.groundup.cloud.plugins.plugin_utils.layers.storage import BACKENDS
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.layout.profiles import HARDWARE, PROFILES
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.model.site import ProfileName
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.types import DebianRelease
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.lock.model import load_lock

ROOT = Path(__file__).resolve().parents[3]
BUILT = list(LAYERS)


def installed(backend: Backend | None) -> set[str]:
    """Return what layers install in sites with ``backend`` alone, or whatever the backend is (None)."""
    return {
        name
        for layer in LAYERS.values()
        if not layer.monitoring
        for one in layer.installs
        if backend in (found if isinstance(found := one.backend or layer.backend, tuple) else (found,))
        for name in (*one.packages, *one.substitutes)
    }


def plays(name: str) -> list[dict[str, Any]]:
    """Return the plays of a playbook."""
    found: list[dict[str, Any]] = yaml.safe_load((ROOT / f"playbooks/{name}.yml").read_text())
    return found


def entry(role: str) -> list[dict[str, Any]]:
    """Return the tasks of a role's entry point `main`."""
    found: list[dict[str, Any]] = yaml.safe_load((ROOT / f"roles/{role}/tasks/main.yml").read_text())
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


def test_the_seed_serves_and_hosts_of_the_lab_have_what_the_layers_install_and_no_more() -> None:
    lock = load_lock()
    wanted = installed(None)
    for name in lock.groups["packages"]:
        assert set(lock.artifacts[name].inputs["packages"]) == wanted, name
    host = lock.artifacts["rootfs-host"].inputs
    assert set(host["installed"]) == wanted
    assert wanted.isdisjoint(host["packages"]), "beside it: a Debian that boots"


def test_what_only_sites_with_a_ceph_of_their_own_install_is_in_artifacts_of_their_own() -> None:
    artifacts = load_lock().artifacts
    served, host = artifacts["packages-ceph-13"].inputs, artifacts["rootfs-storage-13"].inputs
    assert served["packages"] == host["installed"] == artifacts["packages-13"].inputs["packages"]
    assert set(served["further"]) == installed("native")
    assert set(host["further"]) == {name for one in LAYERS["storage"].installs for name in one.packages}
    assert installed("native").isdisjoint(installed(None)), "others would carry it"
    assert artifacts["packages-ceph-13"].optional
    assert artifacts["rootfs-storage-13"].optional
    differing = {name for name, value in host.items() if value != artifacts["rootfs-host"].inputs.get(name)}
    assert differing == {"further", "disable_further"}


def test_what_only_sites_with_monitoring_install_is_in_artifacts_of_their_own_with_all_that_others_have() -> None:
    artifacts, every = load_lock().artifacts, artifacts_inputs("packages-13")["packages"]
    own = {name for one in LAYERS["monitoring"].installs for name in one.packages}
    further = {*own, ALERTMANAGER, LOG_DOOR, JOURNAL_UPLOAD} - set(every)
    assert further == {
        "prometheus-alertmanager", "prometheus-node-exporter", "smartmontools", "systemd-journal-remote",
    }  # fmt: skip
    for release, more in (("13", installed("native")), ("12", set())):
        served = artifacts_inputs(f"packages-monitoring-{release}")
        assert served["packages"] == every
        assert set(served["further"]) == further | more
        assert artifacts[f"packages-monitoring-{release}"].optional


def artifacts_inputs(name: str) -> dict[str, Any]:
    """Return the inputs of an artifact of the lock."""
    found: dict[str, Any] = load_lock().artifacts[name].inputs
    return found


def test_the_lock_has_the_repository_of_every_release_where_the_plan_says() -> None:
    lock = load_lock()
    found = {
        entry.version: f"{name}/{entry.version}" for name in lock.groups["packages"] for entry in [lock.artifacts[name]]
    }
    assert found == {release: f"packages-{release}/{release}" for release in get_args(DebianRelease)}


def test_modules_install_nothing_that_the_tables_do_not_name() -> None:
    tabled = {name for layer in LAYERS.values() for one in layer.installs for name in (*one.packages, *one.substitutes)}
    written = {clock.CHRONY, trust.PACKAGE}
    assert written <= tabled
    assert (ROOT / "plugins/action/monitoring.py").read_text().count('"central_packages": [ALERTMANAGER') == 1
    # Only where hosts do not install from the seed, which has the tables' packages: the plan holds to that.
    assert updates.packages({"updates": "site"}) == []
    calls = (ROOT / "plugins").glob("module*/**/*.py")
    named = {name for path in calls for name in re.findall(r"packages\.installed\(changes, (.*)\)", path.read_text())}
    assert named == {
        'wanted["central_packages"]',
        'wanted["packages"]',
        'logs["packages"]',
        "central.packages",
        "node.packages",
        '[*wanted["packages"], *store, *clock.lacking(), *updates.packages(wanted)]',
    }


def test_plain_hosts_come_with_no_package_that_a_layer_installs_but_what_every_debian_has() -> None:
    artifacts, every = load_lock().artifacts, {"dbus", "iproute2"}
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
    imported = [
        play.get("ansible.builtin.import_playbook", "").removeprefix("groundup.cloud.") for play in plays("site")
    ]
    assert [name for name in imported if name in LAYERS] == BUILT, "playbooks/site.yml"


@pytest.mark.parametrize("name", [name for name in BUILT if name != "plan"])
def test_a_layer_starts_with_preflight_and_has_its_verbs(name: str) -> None:
    first, *rest = plays(name)
    started = first["ansible.builtin.import_playbook"].removeprefix("groundup.cloud.")
    if started == "secrets":  # preflight, then they
        started = plays(started)[0]["ansible.builtin.import_playbook"].removeprefix("groundup.cloud.")
    assert started == "preflight"
    tasks = [part for play in rest for part in (play, *play.get("tasks", ()))]
    tasks += [task for play in rest for role in play.get("roles", ()) for task in entry(role.split(".")[-1])]
    tags = {tag for part in tasks for tag in part.get("tags", ())}
    assert tags - {"never"} == {"check", "apply", "verify"}
    groups = {play["hosts"].partition(":")[0] for play in rest if "hosts" in play}
    assert LAYERS[name].group in groups, "the record names the group its plays run on"


@pytest.mark.parametrize("name", ["seed", "secrets", "kubernetes", "openstack", "monitoring", "set_aside", "remove"])
def test_a_failure_after_a_host_was_set_aside_ends_with_code_2(name: str) -> None:
    """Code 4, unreachable, would say that the run came to its end."""
    own = [play for play in plays(name) if "hosts" in play and play["name"] != "Next step"]
    assert {play["name"]: play.get("max_fail_percentage") for play in own} == {play["name"]: 0 for play in own}


@pytest.mark.parametrize(
    "name", ["contact", *(name for name in BUILT if LAYERS[name].nodes or LAYERS[name].group in ("all", "monitoring"))]
)
def test_hosts_set_aside_are_counted_after_each_layer_on_hosts(name: str) -> None:
    assert "groundup.cloud.set_aside" in [play.get("ansible.builtin.import_playbook") for play in plays(name)]


@pytest.mark.parametrize("path", tables.PAGES)
def test_tables_in_the_documentation_are_fresh(path: str) -> None:
    assert (ROOT / path).read_text() == tables.page(path, ROOT), f"run ci/run python -m {reference.__name__}"
