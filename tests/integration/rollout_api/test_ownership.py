"""A cluster knows whose secrets it was deployed with, and refuses others before anything changes."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.paths import COLLECTION
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import load_site, make_plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.rollout.gate.ownership import NAME
from ansible_collections.groundup.cloud.plugins.plugin_utils.rollout.session import Session
from ansible_collections.groundup.cloud.plugins.plugin_utils.rollout.types import RolloutError
from ansible_collections.groundup.cloud.plugins.plugin_utils.vault import PasswordSource, Redactor, Store, rotation

from .conftest import Site

NAMES = ["pki/ca-key", "keystone/admin", "keepalived/auth"]


def store(directory: Path, *, write: bool = True) -> Store:
    """Return the store in ``directory``; a new one where there is none."""
    source = PasswordSource(path=directory.parent / f"{directory.name}.password", ours=True)
    return Store.open(directory, source, write=write)


def session(site: Site, kept: Store) -> Session:
    """Return a session on the test's namespace with the secrets of ``kept``."""
    plan: Any = make_plan(load_site(COLLECTION / "inventories/lab/site.yml"))
    provider: Any = SimpleNamespace(name="corp", secret="keystone/oidc-corp")
    identity = replace(plan.identity, providers=(provider,))
    plan = replace(plan, openstack=replace(plan.openstack, namespace=site.namespace), identity=identity)
    rollout: Any = None  # what a claim has no use for
    return Session(
        site_file="site.yml", plan=plan, rollout=rollout, redactor=Redactor({}), directory=kept.path.parent,
        store=kept, api=site.api,
    )  # fmt: skip


def config_map(site: Site) -> dict[str, Any] | None:
    return site.api.find(f"/api/v1/namespaces/{site.namespace}/configmaps/{NAME}")


def test_the_first_run_claims_the_cluster_and_later_ones_find_it_claimed(site: Site, tmp_path: Path) -> None:
    kept = store(tmp_path / "state")
    kept.ensure(NAMES)
    assert set(session(site, kept).claim(write=False)) == set(NAMES)
    assert config_map(site) is None, "a prediction wrote"
    assert set(session(site, kept).claim(write=True)) == set(NAMES)
    text = json.dumps(config_map(site))
    assert kept.identity in text
    assert not [name for name, value in kept.items().items() if value in text], "a secret is in the open"
    again = session(site, store(tmp_path / "state"))
    assert again.claim(write=False) == again.claim(write=True) == ()


def test_a_new_service_adds_its_secrets_and_touches_no_other(site: Site, tmp_path: Path) -> None:
    kept = store(tmp_path / "state")
    kept.ensure(NAMES)
    session(site, kept).claim(write=True)
    kept.ensure(["glance/database"])
    assert session(site, kept).claim(write=True) == ("glance/database",)
    assert session(site, kept).claim(write=True) == ()


def test_a_renewed_certificate_s_key_is_no_other_store(site: Site, tmp_path: Path) -> None:
    kept = store(tmp_path / "state")
    kept.ensure(NAMES)
    kept.take({"edge/key": "of spring"})
    session(site, kept).claim(write=True)
    kept.take({"edge/key": "of summer"}, replacing=["edge/key"])
    assert session(site, kept).claim(write=True) == ()


def test_a_rotated_secret_is_accepted_by_the_store_that_has_the_former_and_by_no_other(
    site: Site, tmp_path: Path
) -> None:
    kept, backup = store(tmp_path / "state"), tmp_path / "backup"
    kept.ensure(NAMES)
    session(site, kept).claim(write=True)
    shutil.copytree(tmp_path / "state", backup)
    shutil.copy(tmp_path / "state.password", tmp_path / "backup.password")
    rotation.stage(kept, ["keystone/admin"], users={})
    assert session(site, kept).claim(write=True) == (), "what is not in use was recorded"
    rotation.swap(kept, ["keystone/admin"])
    shutil.copytree(tmp_path / "state", tmp_path / "stolen")
    shutil.copy(tmp_path / "state.password", tmp_path / "stolen.password")
    stolen = store(tmp_path / "stolen")
    rotation.end(stolen, "keystone/admin")  # it has the new value, and not the one before
    with pytest.raises(RolloutError, match=r"\(keystone/admin\)"):
        session(site, stolen).claim(write=True)
    assert session(site, kept).claim(write=False) == session(site, kept).claim(write=True) == ("keystone/admin",)
    rotation.end(kept, "keystone/admin")
    assert session(site, kept).claim(write=True) == ()
    with pytest.raises(RolloutError, match=r"\(keystone/admin\)"):
        session(site, store(backup)).claim(write=True)


def test_a_store_made_anew_is_refused_and_changes_nothing(site: Site, tmp_path: Path) -> None:
    kept, other = store(tmp_path / "state"), store(tmp_path / "laptop")
    kept.ensure(NAMES)
    other.ensure(NAMES)
    session(site, kept).claim(write=True)
    before = config_map(site)
    for write in (False, True):
        with pytest.raises(
            RolloutError, match="deployed with the secrets of another store: this one is another"
        ) as error:
            session(site, other).claim(write=write)
        assert str(tmp_path / "laptop/secrets.yml") in error.value.where
    assert config_map(site) == before


def test_an_old_backup_is_refused_with_the_names_that_differ(site: Site, tmp_path: Path) -> None:
    kept = store(tmp_path / "state")
    kept.ensure(NAMES)
    backup = kept.path.read_bytes()
    kept.ensure(["glance/database"])
    session(site, kept).claim(write=True)
    kept.path.write_bytes(backup)
    predicted = store(tmp_path / "state", write=False)
    predicted.ensure([*NAMES, "glance/database"])  # as a run does: what the backup lacks gets a new value
    with pytest.raises(RolloutError, match=r"is older, or was changed \(glance/database\)"):
        session(site, predicted).claim(write=False)


def test_a_clients_secret_that_was_replaced_is_taken_and_a_store_from_before_is_not(site: Site, tmp_path: Path) -> None:
    name = "keystone/oidc-corp"
    kept = store(tmp_path / "state")
    kept.ensure(NAMES)
    kept.take({name: "first"})
    session(site, kept).claim(write=True)
    backup = kept.path.read_bytes()
    for value in ("second", "third"):
        kept.take({name: value}, replacing=[name])
        assert session(site, kept).claim(write=False) == session(site, kept).claim(write=True) == (name,)
        assert session(site, kept).claim(write=True) == ()
    kept.path.write_bytes(backup)
    with pytest.raises(RolloutError, match=r"is older, or was changed \(keystone/oidc-corp\)"):
        session(site, store(tmp_path / "state")).claim(write=False)


def test_without_a_cluster_everything_is_new(site: Site, tmp_path: Path) -> None:
    kept = store(tmp_path / "state", write=False)
    kept.ensure(NAMES)
    assert set(replace(session(site, kept), api=None).claim(write=False)) == set(NAMES)


def test_fingerprints_that_somebody_broke_are_told_as_such(site: Site, tmp_path: Path) -> None:
    kept = store(tmp_path / "state")
    kept.ensure(NAMES)
    session(site, kept).claim(write=True)
    path = f"/api/v1/namespaces/{site.namespace}/configmaps/{NAME}"
    body = {"data": {"fingerprints": "not JSON"}}
    site.api.request("PATCH", path, body=body, content_type="application/merge-patch+json")
    with pytest.raises(RolloutError, match="cannot be read"):
        session(site, kept).claim(write=True)


def test_a_cloud_is_not_made_a_second_time_in_another_namespace(site: Site, tmp_path: Path) -> None:
    kept = store(tmp_path / "state")
    kept.ensure(NAMES)
    made = session(site, kept)
    made.claim(write=True)
    plan = replace(made.plan, openstack=replace(made.plan.openstack, namespace="another"))
    for write in (False, True):
        with pytest.raises(RolloutError, match=f"is in namespace {site.namespace}, and is to be in another"):
            replace(session(site, kept), plan=plan).claim(write=write)
    assert site.api.find(f"/api/v1/namespaces/another/configmaps/{NAME}") is None
