"""Verbs on storage hosts where the site has none: they are refused before anybody is asked."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible_collections.groundup.cloud.tests.integration.commands import run

SITE = """\
plugin: groundup.cloud.site
site: unit
domain: unit.test
profile: lab
machines: {seed: {count: 1}, control: {count: 1}, worker: {count: 1}}
storage: {backend: external, external: {fsid: 5f1c0a3e-93f4-4b0e-8f0e-0a4d2f1f7c11, monitors: [10.9.0.11]}}
openstack: {services: [keystone, glance]}
"""


@pytest.mark.parametrize(
    ("playbook", "variable", "said"),
    [
        ("drain", "machine", "x is neither hypervisor nor storage host"),
        ("storage_retire", "retire_machine", "it left the site file, or is called otherwise"),
        ("storage_replace", "replace_machine", "replace: this site runs no Ceph of its own"),
    ],
)
def test_hosts_of_somebody_else_s_ceph_are_left_to_whoever_runs_it(
    tmp_path: Path, playbook: str, variable: str, said: str
) -> None:
    (tmp_path / "site.yml").write_text(SITE)
    done = run(
        "ansible-playbook", "-i", tmp_path / "site.yml", f"groundup.cloud.{playbook}", "-e", f"{variable}=x",
        GROUNDUP_STATE=tmp_path / "state",
    )  # fmt: skip
    assert done.returncode == 2
    assert said in " ".join(done.stdout.split())
    assert "this site runs no Ceph of its own" in " ".join(done.stdout.split())
    assert "ssh" not in done.stdout + done.stderr
