"""The playbook secrets and the lookups, as a run calls them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from ansible.errors import AnsibleLookupError
from ansible_collections.groundup.cloud.plugins.lookup import secret, state_file
from ansible_collections.groundup.cloud.plugins.plugin_utils.secrets import SecretsError, open_store, password_source
from ansible_collections.groundup.cloud.tests.e2e.leaks import Leaks

SITE = """\
plugin: groundup.cloud.site
site: unit
domain: unit.test
profile: lab
machines:
  control: {count: 1}
openstack: {services: [keystone]}
"""


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GROUNDUP_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv("ANSIBLE_VAULT_PASSWORD_FILE", raising=False)
    (tmp_path / "site.yml").write_text(SITE)
    return tmp_path / "state" / "unit"


def play(state: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [str(Path(sys.executable).with_name("ansible-playbook")), "-i", "localhost,", "groundup.cloud.secrets"]
    variables = ["-e", f"groundup_site_file={state.parent.parent / 'site.yml'}"]
    return subprocess.run([*command, *variables, *options], capture_output=True, text=True, check=False)


def look(plugin: Any, term: str, **variables: Any) -> str:
    known = {"groundup_site": {"site": "unit"}, **variables}
    found: list[str] = plugin.LookupModule().run([term], variables=known)
    return found[0]


def test_a_site_gets_its_secrets_once_and_a_lost_store_is_refused(state: Path) -> None:
    predicted = play(state, "--check", "--diff")
    assert "+secret keystone/admin" in predicted.stdout, predicted.stdout + predicted.stderr
    assert not state.exists(), "a prediction writes nothing"

    first = play(state, "-vvv", "--diff")
    assert "changed=1" in first.stdout, first.stdout + first.stderr
    assert "+certificate edge: new" in first.stdout
    second = play(state, "-vvv", "--diff")
    assert "changed=0" in second.stdout

    secrets = open_store("unit").items()
    assert {"keystone/admin", "pki/ca-key", "kubernetes/encryption-key"} <= set(secrets)
    leaks = Leaks(secrets)
    for run in (predicted, first, second):
        leaks.look("run", run.stdout + run.stderr)
    assert leaks.seen == set()
    assert look(secret, "keystone/admin") == secrets["keystone/admin"]
    assert look(state_file, "ca.crt").startswith("-----BEGIN CERTIFICATE-----")

    (state / "secrets.yml").unlink()
    refused = play(state)
    assert refused.returncode != 0
    assert "restore secrets.yml from your backup" in refused.stdout + refused.stderr
    assert not (state / "secrets.yml").exists()


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
