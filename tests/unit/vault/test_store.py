"""The store: generated once, encrypted, only ever growing, never shown."""

from __future__ import annotations

import pickle
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from ansible.parsing.dataloader import DataLoader
from ansible.parsing.vault import AnsibleVaultError, VaultLib, VaultSecret
from ansible_collections.groundup.cloud.plugins.plugin_utils.vault import (
    PasswordSource,
    SecretsError,
    Store,
    password_source,
)
from ansible_collections.groundup.cloud.plugins.plugin_utils.vault import store as store_module

NAMES = ("keystone/admin", "mariadb/root", "kubernetes/encryption-key")


@pytest.fixture
def source(tmp_path: Path) -> PasswordSource:
    return PasswordSource(path=tmp_path / "config" / "password", ours=True)


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "state" / "site"


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def encrypt(source: PasswordSource, text: str) -> bytes:
    return bytes(VaultLib([("default", VaultSecret(source.create(source.path)))]).encrypt(text))


def test_a_second_run_reads_the_same_values_and_creates_nothing(directory: Path, source: PasswordSource) -> None:
    first = Store.open(directory, source)
    assert first.ensure(NAMES) == tuple(sorted(NAMES))
    before = first.path.read_bytes()
    second = Store.open(directory, source)
    assert second.ensure(NAMES) == ()
    assert second.items() == first.items()
    assert second.identity == first.identity
    assert first.path.read_bytes() == before


def test_a_new_secret_is_on_disk_before_anything_is_deployed_with_it(
    directory: Path, source: PasswordSource, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A renamed file is lost with the controller's power until its directory is on disk."""
    synced: list[tuple[Path, bool]] = []

    def sync(place: Path) -> None:
        synced.append((place, (place / "secrets.yml").exists() if place == directory else source.path.exists()))

    monkeypatch.setattr(store_module, "sync", sync)
    Store.open(directory, source).ensure(NAMES)
    assert synced == [(source.path.parent, True), (directory, True)]


def test_a_new_name_leaves_the_old_ones_alone(directory: Path, source: PasswordSource) -> None:
    store = Store.open(directory, source)
    store.ensure(NAMES)
    before = store.items()
    assert Store.open(directory, source).ensure([*NAMES, "glance/admin"]) == ("glance/admin",)
    after = Store.open(directory, source).items()
    assert {name: after[name] for name in NAMES} == before
    assert len(after) == len(NAMES) + 1


def test_store_and_password_are_for_their_owner_only_and_hold_no_value_in_clear(
    directory: Path, source: PasswordSource
) -> None:
    store = Store.open(directory, source)
    store.ensure(NAMES)
    assert (mode(store.path), mode(source.path), mode(directory)) == (0o600, 0o600, 0o700)
    text = store.path.read_text()
    assert text.startswith("$ANSIBLE_VAULT;")
    assert not any(value in text for value in store.values())
    left = {path.name for path in directory.iterdir()}
    assert left == {"secrets.yml", "secrets.pub", ".secrets.lock"}, "no half-written file stays behind"


def test_the_file_opens_with_the_ansible_vault_command(directory: Path, source: PasswordSource) -> None:
    store = Store.open(directory, source)
    store.ensure(NAMES)
    vault = Path(sys.executable).with_name("ansible-vault")
    shown = subprocess.run(
        [vault, "view", "--vault-password-file", source.path, store.path], capture_output=True, text=True, check=True
    ).stdout
    assert store.get("keystone/admin") in shown


def test_no_value_is_in_what_the_store_shows_of_itself(directory: Path, source: PasswordSource) -> None:
    store = Store.open(directory, source)
    store.ensure(NAMES)
    shown = f"{store} {store!r} {store.names()}"
    with pytest.raises(SecretsError) as error:
        store.get("no/such")
    shown += str(error.value)
    with pytest.raises(TypeError):
        pickle.dumps(store)
    assert not any(value in shown for value in store.values())


def test_a_wrong_password_is_an_error_that_names_both_files(directory: Path, source: PasswordSource) -> None:
    Store.open(directory, source).ensure(NAMES)
    source.path.write_text("another\n")
    with pytest.raises(SecretsError, match="does not open") as error:
        Store.open(directory, source)
    assert str(source.path) in str(error.value)
    assert str(directory) in str(error.value)
    assert error.value.__cause__ is None


def test_a_missing_password_is_an_error_and_no_new_one_is_made(directory: Path, source: PasswordSource) -> None:
    Store.open(directory, source).ensure(NAMES)
    source.path.unlink()
    with pytest.raises(SecretsError, match="missing"):
        Store.open(directory, source)
    assert not source.path.exists()


def test_a_password_file_others_can_read_is_refused(directory: Path, source: PasswordSource) -> None:
    Store.open(directory, source).ensure(NAMES)
    source.path.chmod(0o644)
    with pytest.raises(SecretsError, match="chmod 600"):
        Store.open(directory, source)


@pytest.mark.parametrize("marker", ["kubeconfig", "ca.crt", "secrets.pub", "cluster.json", "ovn.json"])
def test_a_lost_store_of_a_deployed_site_is_refused(directory: Path, source: PasswordSource, marker: str) -> None:
    Store.open(directory, source).ensure(NAMES)
    for name in ("secrets.yml", "secrets.pub"):
        (directory / name).unlink()
    (directory / marker).touch()
    with pytest.raises(SecretsError, match=f"(?s){marker}.*restore secrets.yml"):
        Store.open(directory, source)
    assert not (directory / "secrets.yml").exists()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "- a list",
        "version: 2\nidentity: x\nsecrets: {}",
        "version: 1\nidentity: x\nsecrets: {a/b: 12}",
        'version: 1\nidentity: x\nsecrets: {a/b: hunter2hunter2, "',
    ],
)
def test_a_store_with_foreign_content_is_refused_without_quoting_it(
    directory: Path, source: PasswordSource, text: str
) -> None:
    directory.mkdir(parents=True)
    (directory / "secrets.yml").write_bytes(encrypt(source, text or "\n"))
    with pytest.raises(SecretsError) as error:
        Store.open(directory, source)
    assert "hunter2" not in str(error.value)
    assert error.value.__context__ is None or "hunter2" not in str(error.value.__context__)


def test_the_public_identity_is_written_again_when_a_run_was_killed_before_it_was(
    directory: Path, source: PasswordSource
) -> None:
    store = Store.open(directory, source)
    store.ensure(NAMES)
    (directory / "secrets.pub").unlink()
    assert Store.open(directory, source).ensure(NAMES) == ()
    assert (directory / "secrets.pub").read_text() == f"{store.identity}\n"


def test_check_mode_gives_values_to_work_with_and_writes_nothing(directory: Path, source: PasswordSource) -> None:
    store = Store.open(directory, source, write=False)
    assert store.ensure(NAMES) == tuple(sorted(NAMES))
    assert store.get("keystone/admin")
    assert not directory.exists()
    assert not source.path.exists()


def test_runs_at_the_same_time_end_with_the_same_values(directory: Path, source: PasswordSource) -> None:
    stores = [Store.open(directory, source) for _ in range(8)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda pair: pair[1].ensure([*NAMES, f"run/{pair[0]}"]), enumerate(stores)))
    final = Store.open(directory, source)
    assert set(final.names()) == {*NAMES, *(f"run/{index}" for index in range(8))}
    for store in stores:
        assert {name: store.get(name) for name in NAMES} == {name: final.get(name) for name in NAMES}
        assert store.identity == final.identity


def test_references_are_replaced_and_everything_else_is_kept(directory: Path, source: PasswordSource) -> None:
    store = Store.open(directory, source)
    store.ensure(NAMES)
    values = {"a": {"$secret": "keystone/admin"}, "b": [{"$secret": "mariadb/root"}, 1, None, True], "c": {"d": "e"}}
    assert store.resolve(values) == {
        "a": store.get("keystone/admin"),
        "b": [store.get("mariadb/root"), 1, None, True],
        "c": {"d": "e"},
    }
    assert values["a"] == {"$secret": "keystone/admin"}, "the plan itself never holds a value"
    with pytest.raises(SecretsError, match="no/such"):
        store.resolve({"a": {"$secret": "no/such"}})


def test_the_operators_password_file_is_used_and_never_made(directory: Path, tmp_path: Path) -> None:
    path = tmp_path / "mine"
    source = password_source("lab", {"ANSIBLE_VAULT_PASSWORD_FILE": str(path), "HOME": str(tmp_path)})
    with pytest.raises(SecretsError, match="mine"):
        Store.open(directory, source).ensure(NAMES)
    assert not path.exists()
    assert not (directory / "secrets.yml").exists()
    path.write_text("chosen by the operator\n")
    Store.open(directory, source).ensure(NAMES)
    assert Store.open(directory, source).names() == tuple(sorted(NAMES))


def test_a_script_may_give_the_password(directory: Path, tmp_path: Path) -> None:
    script = tmp_path / "ask"
    script.write_text("#!/bin/sh\necho from a key ring\n")
    script.chmod(0o755)
    source = password_source("lab", {"ANSIBLE_VAULT_PASSWORD_FILE": str(script)})
    Store.open(directory, source).ensure(NAMES)
    assert Store.open(directory, source).ensure(NAMES) == ()


def test_without_a_choice_the_password_is_in_the_users_configuration(tmp_path: Path) -> None:
    source = password_source("lab", {"XDG_CONFIG_HOME": str(tmp_path)})
    assert source == PasswordSource(path=tmp_path / "groundup" / "lab.vault-password", ours=True)
    source = password_source("lab", {"HOME": str(tmp_path)})
    assert source.path == tmp_path / ".config" / "groundup" / "lab.vault-password"


def test_values_that_somebody_else_made_are_kept_and_replace_none(directory: Path, source: PasswordSource) -> None:
    store = Store.open(directory, source)
    given = {"ceph/client.glance": " AQfirst== ", "ceph/client.cinder": "AQsecond=="}
    text = "ceph/client.glance: ' AQfirst== '\nceph/client.cinder: AQsecond==\n"
    tagged = DataLoader().load(text, file_name="/given.yml")
    assert store.take(tagged) == ("ceph/client.cinder", "ceph/client.glance"), "as Ansible reads a file of variables"
    assert store.ensure([*given, "keystone/admin"]) == ("keystone/admin",)
    again = Store.open(directory, source)
    assert again.get("ceph/client.glance") == "AQfirst=="
    assert again.take(given) == ()
    assert again.lacking([*given, "ceph/client.nova"]) == ("ceph/client.nova",)
    before = store.path.read_bytes()
    with pytest.raises(SecretsError, match=r"another value for ceph/client\.glance") as caught:
        again.take({"ceph/client.glance": "AQother=="})
    assert "AQ" not in str(caught.value)
    assert store.path.read_bytes() == before
    assert Store.open(directory, source, write=False).take({"ceph/client.nova": "AQthird=="}) == ("ceph/client.nova",)
    assert store.path.read_bytes() == before


@pytest.mark.parametrize("value", [12345, "", None, ["a"]])
def test_a_value_that_is_no_text_is_refused_by_its_name(directory: Path, source: PasswordSource, value: Any) -> None:
    with pytest.raises(SecretsError, match="ceph/x is no text"):
        Store.open(directory, source).take({"ceph/x": value})


@pytest.mark.parametrize("killed", ["stage", "keep", "_save", "promote", ""])
def test_a_store_that_is_encrypted_anew_opens_at_every_moment_and_then_not_with_the_old_password(
    directory: Path, source: PasswordSource, monkeypatch: pytest.MonkeyPatch, killed: str
) -> None:
    first = Store.open(directory, source)
    first.ensure(NAMES)
    old, sealed = source.read(), first.seal(b"key of a set")
    with monkeypatch.context() as patched:
        if killed:
            patched.setattr(Store if killed == "_save" else PasswordSource, killed, _die)
        try:
            first.reseal()
        except KeyboardInterrupt:
            assert killed
    again = Store.open(directory, source)
    assert again.items() == first.items(), "it does not open any more"
    if killed:
        again.reseal()
    assert Store.open(directory, source).items() == first.items()
    assert source.read() != old
    assert not source.next.exists()
    with pytest.raises(AnsibleVaultError):
        VaultLib([("default", VaultSecret(old))]).decrypt(first.path.read_bytes())
    assert again.unseal(sealed, where="set.json") == b"key of a set"
    assert [one.read_bytes().strip() for one in source.formers()] == [old]
    assert mode(source.formers()[0]) == 0o600


def _die(*_: object, **__: object) -> None:
    raise KeyboardInterrupt
