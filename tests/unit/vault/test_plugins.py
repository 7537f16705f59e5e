"""The lookups of secrets and public files, and the password that goes with the store."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ansible.errors import AnsibleLookupError
from ansible_collections.groundup.cloud.plugins.lookup import secret, state_file
from ansible_collections.groundup.cloud.plugins.plugin_utils.vault import SecretsError, open_store, password_source


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GROUNDUP_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv("ANSIBLE_VAULT_PASSWORD_FILE", raising=False)
    return tmp_path / "state" / "unit"


def look(plugin: Any, term: str, **variables: Any) -> str:
    known = {"groundup_site": {"site": "unit"}, **variables}
    found: list[str] = plugin.LookupModule().run([term], variables=known)
    return found[0]


@pytest.mark.parametrize("term", ["ssh/id_ed25519", "secrets.yml", "../other/ca.crt", "/etc/ssl/x.key"])
def test_only_public_files_of_the_site_are_read(state: Path, term: str) -> None:
    assert not state.exists()
    with pytest.raises(AnsibleLookupError, match="not a public file"):
        look(state_file, term)


def test_a_file_that_is_not_there_yet_is_an_error_but_in_check_mode(state: Path) -> None:
    with pytest.raises(AnsibleLookupError, match=f"{state}/ca.crt is missing"):
        look(state_file, "ca.crt")
    assert look(state_file, "ca.crt", ansible_check_mode=True) == ""
    assert look(state_file, "ca.crt", ansible_run_tags=["check"]) == ""


def test_a_secret_that_is_not_there_is_an_error_but_in_check_mode(state: Path) -> None:
    with pytest.raises(AnsibleLookupError, match="holds no keystone/admin"):
        look(secret, "keystone/admin")
    assert look(secret, "keystone/admin", ansible_check_mode=True)
    assert look(secret, "keystone/admin", ansible_run_tags=["check"])
    assert not state.exists()


def test_the_password_goes_after_its_store_and_never_before(
    state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_store("unit").ensure(["keystone/admin"])
    password, store = tmp_path / "config/groundup/unit.vault-password", state / "secrets.yml"
    with pytest.raises(SecretsError, match="still there"):
        password_source("unit").forget(store, write=True)
    assert password_source("unit").forget(store, write=False), "a prediction, of a run that removes the store first"
    assert password.exists()
    store.unlink()
    assert password_source("unit").forget(store, write=False)
    assert password.exists(), "a prediction removes nothing"
    monkeypatch.setenv("ANSIBLE_VAULT_PASSWORD_FILE", str(password))
    assert not password_source("unit").forget(store, write=True), "the operator keeps this one"
    monkeypatch.delenv("ANSIBLE_VAULT_PASSWORD_FILE")
    assert password_source("unit").forget(store, write=True)
    assert not password.exists()
    assert not password_source("unit").forget(store, write=True)
