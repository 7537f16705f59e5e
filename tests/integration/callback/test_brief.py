"""What an operator sees of a failure: what the task printed, its message, and no more; the whole result with -v."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible_collections.groundup.cloud.tests.integration.commands import ROOT, run

WRONG = (ROOT / "inventories/lab/site.yml").read_text() + "edge: {address: 10.90.0.1}\n"
FOREIGN = """\
- hosts: localhost
  connection: local
  tasks:
    - ansible.builtin.assert: {that: false, fail_msg: not ours}
      ignore_errors: true
    - groundup.cloud.secrets: {step: create, site_file: "{{ groundup_site_file }}"}
"""
WAIT = """\
- hosts: localhost
  connection: local
  gather_facts: false
  tasks:
    - ansible.builtin.command: {cmd: mkdir PLACE/third, creates: PLACE/third}
      register: made
      until: made.attempts == 3
      retries: 5
      delay: 0
"""


@pytest.fixture
def site(tmp_path: Path) -> Path:
    path = tmp_path / "site.yml"
    path.write_text(WRONG)
    return path


def play(site: Path, *arguments: str) -> str:
    """Return what a failing playbook prints."""
    done = run("ansible-playbook", "-i", site, *arguments, GROUNDUP_STATE=site.parent / "state")
    assert done.returncode == 2, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_a_failed_plan_is_its_findings_and_one_line(site: Path) -> None:
    printed = play(site, "groundup.cloud.plan")
    name, findings = printed.index("TASK [Plan the site]"), printed.index("duplicate-address")
    failed, recap = printed.index("failed: [localhost] => lab: 4 hosts, 1 error"), printed.index("PLAY RECAP")
    assert name < findings < failed < recap, "the task's name, what it found, that it failed"
    assert printed[failed:recap].splitlines()[1:] == ["(-v shows the whole result)", ""]
    assert printed.count("is taken twice") == 2, "once in the inventory's warning, once in the table"
    for noise in ("fatal:", "[ERROR]", "Origin:", "findings:"):
        assert noise not in printed


def test_the_whole_result_comes_with_v(site: Path) -> None:
    printed = play(site, "groundup.cloud.plan", "-v")
    assert "findings:" in printed
    assert "severity: error" in printed


def test_an_error_is_its_four_lines_and_other_collections_speak_as_ever(site: Path) -> None:
    (site.parent / "state/lab").mkdir(parents=True)
    (site.parent / "state/lab/kubeconfig").touch()
    (site.parent / "play.yml").write_text(FOREIGN)
    printed = play(site, str(site.parent / "play.yml"))
    assert "[ERROR]: Task failed: Action failed: not ours" in printed
    assert "fatal: [localhost]: FAILED! =>" in printed
    assert "...ignoring" in printed
    ours = printed.partition("failed: [localhost] => ")[2].partition("\nPLAY RECAP")[0].splitlines()
    assert ours[0] == "the secrets store is missing, but the site exists"
    assert [line.split(":")[0].strip() for line in ours[1:]] == ["where", "why", "remedy"]


def test_a_wait_that_ends_well_prints_no_failure(site: Path) -> None:
    (site.parent / "play.yml").write_text(WAIT.replace("PLACE", str(site.parent)))
    for options, retried in ((), 0), (("-v",), 2):
        done = run("ansible-playbook", "-i", "localhost,", site.parent / "play.yml", *options)
        assert done.returncode == 0, done.stdout + done.stderr
        assert (done.stdout + done.stderr).count("RETRYING") == retried
