"""The playbook secrets, as a run calls it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from ansible_collections.groundup.cloud.plugins.lookup import secret, state_file
from ansible_collections.groundup.cloud.plugins.plugin_utils.vault import open_store
from ansible_collections.groundup.cloud.tests.e2e.leaks import Leaks
from ansible_collections.groundup.cloud.tests.integration.commands import run

SITE = """\
plugin: groundup.cloud.site
site: unit
domain: unit.test
profile: lab
machines:
  control: {count: 1}
openstack: {services: [keystone]}
"""


def play(directory: Path, *options: str) -> subprocess.CompletedProcess[str]:
    site = f"groundup_site_file={directory / 'site.yml'}"
    return run("ansible-playbook", "-i", "localhost,", "groundup.cloud.secrets", "-e", site, *options)


def test_a_site_gets_its_secrets_once_and_a_lost_store_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GROUNDUP_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv("ANSIBLE_VAULT_PASSWORD_FILE", raising=False)
    (tmp_path / "site.yml").write_text(SITE)
    state = tmp_path / "state/unit"
    predicted = play(tmp_path, "--check", "--diff")
    assert "+secret keystone/admin" in predicted.stdout, predicted.stdout + predicted.stderr
    assert not state.exists(), "a prediction writes nothing"

    first = play(tmp_path, "-vvv", "--diff")
    assert "changed=1" in first.stdout, first.stdout + first.stderr
    assert "+certificate edge: new" in first.stdout
    second = play(tmp_path, "-vvv", "--diff")
    assert "changed=0" in second.stdout

    secrets = open_store("unit").items()
    assert {"keystone/admin", "pki/ca-key", "kubernetes/encryption-key"} <= set(secrets)
    leaks = Leaks(secrets)
    for done in (predicted, first, second):
        leaks.look("run", done.stdout + done.stderr)
    assert leaks.seen == set()
    known = {"groundup_site": {"site": "unit"}}
    assert secret.LookupModule().run(["keystone/admin"], variables=known) == [secrets["keystone/admin"]]
    assert state_file.LookupModule().run(["ca.crt"], variables=known)[0].startswith("-----BEGIN CERTIFICATE-----")

    (state / "secrets.yml").unlink()
    refused = play(tmp_path)
    assert refused.returncode != 0
    assert "restore secrets.yml from your backup" in refused.stdout + refused.stderr
    assert not (state / "secrets.yml").exists()
