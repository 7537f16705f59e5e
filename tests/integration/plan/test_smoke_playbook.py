"""The playbook groundup.cloud.tenant_smoke: a site without hypervisors has no instance to boot."""

from __future__ import annotations

from pathlib import Path

from ansible_collections.groundup.cloud.tests.integration.commands import ROOT, run


def test_a_site_without_hypervisors_boots_nothing(tmp_path: Path) -> None:
    site = ROOT / "inventories/lab/site.yml"
    done = run("ansible-playbook", "-i", site, "groundup.cloud.tenant_smoke", GROUNDUP_STATE=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "skipped=1" in done.stdout
