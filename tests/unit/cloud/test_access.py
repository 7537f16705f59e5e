"""clouds.yaml and openrc: the store's password, for nobody else to read, in no diff; clients take them."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud import access
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan, load_site, make_plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.vault import SecretsError, Store, open_store
from openstack.config import OpenStackConfig

LAB = Path(__file__).resolve().parents[3] / "inventories/lab/site.yml"
NAME = "keystone/admin"


@pytest.fixture
def plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Plan:
    """The plan of the lab; state and configuration are the test's."""
    monkeypatch.setenv("GROUNDUP_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv("ANSIBLE_VAULT_PASSWORD_FILE", raising=False)
    return make_plan(load_site(LAB))


@pytest.fixture
def store(plan: Plan) -> Store:
    """The site's store, with the administrator's password."""
    store = open_store(plan.site)
    store.ensure([NAME])
    return store


def test_both_files_are_for_their_owner_alone_and_in_no_diff(plan: Plan, store: Store, tmp_path: Path) -> None:
    changes = Changes(check=False)
    assert access.place(plan, store, changes) == tmp_path / "state/lab/clouds.yaml"
    for name in (access.CLOUDS, access.OPENRC):
        path = tmp_path / "state/lab" / name
        assert store.get(NAME) in path.read_text()
        assert path.stat().st_mode & 0o777 == 0o600
    assert store.get(NAME) not in str(changes.result())
    again = Changes(check=False)
    access.place(plan, store, again)
    assert again.done == []


def test_a_dry_run_says_what_it_would_write_and_rights_too_wide_are_mended(
    plan: Plan, store: Store, tmp_path: Path
) -> None:
    foreseen, clouds = Changes(check=True), tmp_path / "state/lab/clouds.yaml"
    access.place(plan, store, foreseen)
    assert [line.rpartition("/")[2] for line in foreseen.done] == ["clouds.yaml", "openrc"]
    assert not clouds.exists()
    access.place(plan, store, Changes(check=False))
    clouds.chmod(0o644)
    mended = Changes(check=False)
    access.place(plan, store, mended)
    assert len(mended.done) == 1
    assert clouds.stat().st_mode & 0o777 == 0o600


def test_a_store_without_the_password_gets_none(plan: Plan, tmp_path: Path) -> None:
    with pytest.raises(SecretsError, match=NAME):
        access.place(plan, open_store(plan.site, write=False), Changes(check=False))
    assert not (tmp_path / "state").exists()


def test_openstacksdk_takes_the_cloud_by_the_sites_name(plan: Plan, store: Store) -> None:
    clouds = access.place(plan, store, Changes(check=False))
    config = OpenStackConfig(config_files=[str(clouds)], secure_files=[], load_envvars=False)
    found: Any = config.get_one("lab")
    assert found.config["auth"]["auth_url"].startswith("https://identity.lab.test")
    assert found.config["auth"]["password"] == store.get(NAME)
    assert (found.region_name, found.config["cacert"]) == ("RegionOne", str(clouds and clouds.with_name("ca.crt")))


def test_openrc_says_the_same_to_a_shell(plan: Plan, store: Store) -> None:
    clouds = access.place(plan, store, Changes(check=False))
    assert clouds is not None
    cloud = yaml.safe_load(clouds.read_text())["clouds"]["lab"]
    wanted = {f"OS_{key.upper()}": value for key, value in {**cloud.pop("auth"), **cloud}.items()}
    script = f". {clouds.with_name('openrc')}; env"
    done = subprocess.run(["sh", "-c", script], env={"OS_CLOUD": "another"}, capture_output=True, text=True, check=True)
    assert {key: value for key, value in (line.split("=", 1) for line in done.stdout.splitlines())
            if key.startswith("OS_")} == wanted  # fmt: skip
