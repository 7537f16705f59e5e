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


@pytest.mark.parametrize("verb", ["drain", "retire", "replace"])
def test_hosts_of_somebody_else_s_ceph_are_left_to_whoever_runs_it(tmp_path: Path, verb: str) -> None:
    (tmp_path / "site.yml").write_text(SITE)
    said = run(
        "ansible-playbook", "-i", tmp_path / "site.yml", f"groundup.cloud.storage_{verb}", "-e", f"{verb}_machine=x",
        GROUNDUP_STATE=tmp_path / "state",
    )  # fmt: skip
    assert said.returncode == 2
    assert f"{verb}: this site runs no Ceph of its own" in said.stdout
    assert "ssh" not in said.stdout + said.stderr
