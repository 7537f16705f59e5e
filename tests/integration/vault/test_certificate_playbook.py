"""The playbook certificate on the control node, as a hook of an ACME client calls it, and its prediction."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.vault import open_store
from ansible_collections.groundup.cloud.tests.integration.commands import run
from ansible_collections.groundup.cloud.tests.unit.certificates import Issued, issue

SITE = """\
plugin: groundup.cloud.site
site: unit
domain: unit.test
profile: lab
machines:
  control: {count: 1}
hosts: {trusted_cas: [root.pem]}
edge: {certificate: public.pem}
openstack: {services: [keystone]}
"""
ROOT = issue("root", ca=True)
FIRST, NEXT = (issue(name, ROOT, names=["*.unit.test"]) for name in ("first", "next"))


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the directory of a site file that names a certificate, which is not there."""
    monkeypatch.setenv("GROUNDUP_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv("ANSIBLE_VAULT_PASSWORD_FILE", raising=False)
    (tmp_path / "site.yml").write_text(SITE)
    (tmp_path / "root.pem").write_text(ROOT.pem)
    return tmp_path


def hand(site: Path, pair: Issued, *options: str, whole: bool = True) -> subprocess.CompletedProcess[str]:
    """Run the playbook without the site's hosts; ``whole``: the certificate is not in its place yet."""
    (site / "new.pem").write_text(pair.pem)
    (site / "new.key").write_text(pair.key)
    given = [f"edge_key_file={site / 'new.key'}", *([f"edge_certificate_file={site / 'new.pem'}"] if whole else [])]
    chosen = [word for one in given for word in ("-e", one)]
    where = ("-i", "localhost,", "-i", site / "site.yml", "groundup.cloud.certificate", "--limit", "localhost")
    done = run("ansible-playbook", *where, *chosen, "--diff", "-v", *options)
    assert pair.key.splitlines()[1] not in done.stdout + done.stderr
    return done


def predicts(done: subprocess.CompletedProcess[str], site: Path) -> None:
    assert done.returncode == 0, done.stdout + done.stderr
    assert "keep secret edge/key" in done.stdout
    assert not (site / "state/unit/secrets.yml").exists() or open_store("unit").get("edge/key") == FIRST.key.strip()


def test_a_prediction_of_a_site_s_first_pair_and_of_a_renewal_changes_nothing(site: Path) -> None:
    predicts(hand(site, FIRST, "--check"), site)
    assert not (site / "public.pem").exists()
    assert not (site / "state").exists()
    done = hand(site, FIRST)
    assert done.returncode == 0, done.stdout + done.stderr
    assert open_store("unit").get("edge/key") == FIRST.key.strip()

    for how in (["--check"], ["--tags", "check"]):
        predicted = hand(site, NEXT, *how)
        predicts(predicted, site)
        assert f"write {site / 'public.pem'}" in predicted.stdout
        assert (site / "public.pem").read_text() == FIRST.pem
    (site / "public.pem").write_text(NEXT.pem)
    predicts(hand(site, NEXT, "--check", whole=False), site)
    assert hand(site, NEXT, whole=False).returncode == 0
    assert open_store("unit").get("edge/key") == NEXT.key.strip()
    assert "changed=0" in hand(site, NEXT, "--check").stdout


def test_a_prediction_refuses_what_a_run_would(site: Path) -> None:
    (site / "public.pem").write_text(FIRST.pem)
    assert hand(site, FIRST, whole=False).returncode == 0
    (site / "public.pem").write_text(NEXT.pem)
    refused = hand(site, FIRST, "--check", whole=False)
    assert refused.returncode != 0
    assert "does not belong to the certificate CN=next" in " ".join((refused.stdout + refused.stderr).split())
