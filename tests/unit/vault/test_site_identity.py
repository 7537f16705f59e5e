"""A state directory is one site's: another site of the same name neither uses nor removes it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils import site_identity
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.site_secrets import remove
from ansible_collections.groundup.cloud.plugins.plugin_utils.vault import Store, open_store, password_source

LAB = {"seed-1": "container", "control-1": "container"}
REAL = {"seed-1": "existing", "control-1": "existing"}
MIXED = {"seed-1": "container", "worker-1": "ironic"}


def plan(hosts: dict[str, str], *, domain: str = "cloud.test", network: str = "10.0.0") -> Any:
    """Return what a plan says of a site named `cloud`."""
    made = {
        name: SimpleNamespace(name=name, provisioner=kind, address=f"{network}.{number}")
        for number, (name, kind) in enumerate(hosts.items())
    }
    return SimpleNamespace(site="cloud", domain=domain, hosts=made)


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GROUNDUP_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv("ANSIBLE_VAULT_PASSWORD_FILE", raising=False)
    return tmp_path / "state/cloud"


def built(state: Path, of: Any | None) -> None:
    """Make the state of a site with a secrets store; without a record when it is of nobody."""
    open_store("cloud").ensure(["keystone/admin"])
    if of:
        site_identity.adopt(of)
    assert (state / "secrets.yml").exists()


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (plan(REAL), plan(LAB), "control-1 is of provisioner existing there, and container in the site file"),
        (plan(LAB), plan(REAL), "control-1 is of provisioner container there"),
        (plan(REAL), plan(REAL, domain="other.test"), r"its domain is cloud\.test"),
        (plan(LAB), plan(LAB, domain="other.test"), r"its domain is cloud\.test"),
        (plan(REAL), plan(REAL, network="10.9.9"), r"none of its hosts \(control-1, seed-1\)"),
        (plan(REAL), plan({"lab-1": "container"}), "none of its hosts"),
        (plan(LAB), plan({"host-1": "existing"}), "none of its hosts"),
        (plan(MIXED), plan({"seed-1": "container", "worker-1": "container"}), "worker-1 is of provisioner ironic"),
    ],
)
def test_another_site_is_refused_without_consent(state: Path, before: Any, after: Any, said: str) -> None:
    built(state, before)
    with pytest.raises(GroundupError, match=said) as caught:
        site_identity.refuse_other(after)
    assert '"site_force": [other-site]' in caught.value.remedy
    site_identity.refuse_other(after, ["other-site"])


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (LAB, LAB | {"worker-1": "container"}),
        (LAB, {"control-1": "container"}),
        (LAB, {"new-1": "container"}),
        (LAB, LAB | {"worker-1": "ironic"}),
        (REAL, REAL | {"worker-1": "ironic"}),
        (REAL, {"seed-1": "existing"}),
        (REAL, REAL | {"control-1": "ironic"}),
    ],
    ids=["a lab grows", "a lab shrinks", "another lab", "a machine joins a lab", "a site grows", "a site shrinks",
         "a machine is installed by the seed from now on"],
)  # fmt: skip
def test_hosts_come_and_go(state: Path, before: dict[str, str], after: dict[str, str]) -> None:
    built(state, plan(before))
    site_identity.refuse_other(plan(after))
    site_identity.adopt(plan(after))
    assert set(json.loads((state / "site.json").read_text())["hosts"]) == set(after)


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "{}", '{"domain": "d", "hosts": {}}', '{"domain": "d", "hosts": {"a": "b"}}']
)
def test_a_damaged_record_is_no_consent(state: Path, text: str) -> None:
    built(state, plan(LAB))
    (state / "site.json").write_text(text)
    for ask in (site_identity.refuse_other, site_identity.refuse_removal):
        with pytest.raises(GroundupError, match="whose state this is cannot be read"):
            ask(plan(LAB))


def test_a_state_from_before_the_record_is_of_the_last_plan(state: Path) -> None:
    built(state, None)
    site_identity.refuse_other(plan(LAB))
    hosts = {name: {"provisioner": kind, "address": "10.0.0.1"} for name, kind in REAL.items()}
    (state / "plan.json").write_text(json.dumps({"domain": "cloud.test", "hosts": hosts}))
    with pytest.raises(GroundupError, match="control-1 is of provisioner existing there"):
        site_identity.refuse_other(plan(LAB))
    with pytest.raises(GroundupError, match="control-1, seed-1 are no containers of the lab"):
        site_identity.refuse_removal(plan(LAB))


def test_the_plan_of_a_site_that_was_never_built_is_a_draft(state: Path) -> None:
    state.mkdir(parents=True)
    (state / "plan.json").write_text(
        json.dumps({"domain": "d", "hosts": {"a": {"provisioner": "existing", "address": "1"}}})
    )
    site_identity.refuse_other(plan(LAB))
    assert site_identity.refuse_removal(plan(LAB))


@pytest.mark.parametrize(
    ("kept", "now", "codes"),
    [
        (plan(REAL), plan(LAB), ["machines"]),
        (plan(MIXED), plan(MIXED), ["machines"]),
        (None, plan(MIXED), ["machines", "unknown-state"]),
        (None, plan(LAB), ["unknown-state"]),
        (plan(LAB), plan(REAL), ["machines"]),
    ],
    ids=["a real site of that name", "a container seed of a real site", "no record, and machines", "no record",
         "a lab of that name"],
)  # fmt: skip
def test_what_may_be_a_real_site_is_not_removed(state: Path, kept: Any, now: Any, codes: list[str]) -> None:
    built(state, kept)
    password, only_lab = password_source("cloud").path, not site_identity.of_plan(now).machines
    for write in (False, True):
        with pytest.raises(GroundupError, match="nothing was removed") as caught:
            remove(now, write=write, keep=False, force=[])
    assert f'"lab_force": [{", ".join(codes)}]' in caught.value.remedy
    assert (state / "secrets.yml").exists()
    store = (state / "secrets.yml").read_bytes()
    assert remove(now, write=True, keep=False, force=codes)["changed"] is only_lab
    (place,) = state.parent.iterdir()
    assert place.name.startswith("cloud.removed-" if only_lab else "cloud")
    assert (place / "secrets.yml").read_bytes() == store
    assert password.exists(), "the password of a store that is there"


def test_a_lab_goes_without_a_trace(state: Path) -> None:
    built(state, plan(LAB))
    password = password_source("cloud").path
    assert remove(plan(LAB), write=True, keep=True, force=[])["changed"] is False
    assert remove(plan(LAB), write=False, keep=False, force=[])["changed"] is True
    assert state.exists()
    assert password.exists()
    assert remove(plan(LAB), write=True, keep=False, force=[])["changed"] is True
    assert list(state.parent.iterdir()) == []
    assert not password.exists()
    assert remove(plan(LAB), write=True, keep=False, force=[])["changed"] is False


@pytest.mark.parametrize("other", ["elsewhere", "aside", "before the list"])
def test_a_password_that_opens_another_store_stays_with_a_lab_that_goes(
    state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, other: str
) -> None:
    """Two sites of one name have one password: `GROUNDUP_STATE` moves the state alone."""
    source, real = password_source("cloud"), tmp_path / "state/cloud"
    built(state, plan(REAL))
    if other == "elsewhere":
        monkeypatch.setenv("GROUNDUP_STATE", str(tmp_path / "lab"))
    elif other == "aside":
        real = state.rename(state.with_name("cloud.removed-20261128T100000Z"))
    else:
        source.stores.unlink()
        real = state.rename(tmp_path / "kept")
    built(tmp_path / ("lab/cloud" if other == "elsewhere" else "state/cloud"), plan(LAB))
    for write in (False, True):
        said = remove(plan(LAB), write=write, keep=False, force=[])
        assert f"its password {source.path} stays" in said["msg"]
    assert source.path.exists()
    opened = Store.open(real, source, write=False)
    assert opened.get("keystone/admin")


def test_the_password_of_a_former_lab_elsewhere_goes_with_the_last_one(
    state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    built(state, plan(LAB))
    monkeypatch.setenv("GROUNDUP_STATE", str(tmp_path / "lab"))
    built(tmp_path / "lab/cloud", plan(LAB))
    open_store("cloud")  # a second look notes it once
    assert len(password_source("cloud").stores.read_text().splitlines()) == 2
    assert "stays" in remove(plan(LAB), write=True, keep=False, force=[])["msg"]
    monkeypatch.setenv("GROUNDUP_STATE", str(tmp_path / "state"))
    assert "stays" not in remove(plan(LAB), write=True, keep=False, force=[])["msg"]
    assert list((tmp_path / "config/groundup").iterdir()) == []


def test_a_removal_that_was_killed_is_no_state_without_a_record(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    built(state, plan(LAB))

    def killed(path: Path, **_: object) -> None:
        if path.exists():
            (path / "site.json").unlink()
            raise KeyboardInterrupt

    with monkeypatch.context() as broken:
        broken.setattr(shutil, "rmtree", killed)
        with pytest.raises(KeyboardInterrupt):
            remove(plan(LAB), write=True, keep=False, force=[])
    assert remove(plan(LAB), write=True, keep=False, force=[])["changed"] is True
    assert list(state.parent.iterdir()) == []
    assert not password_source("cloud").path.exists()
