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


@pytest.mark.parametrize(
    "arguments",
    [
        ("groundup.cloud.plan",),
        ("groundup.cloud.status",),
        ("groundup.cloud.openstack", "--tags", "verify"),
        ("groundup.cloud.drain", "-e", "machine=hypervisor-1"),
    ],
)
def test_a_run_without_a_site_file_says_how_it_is_named(arguments: tuple[str, ...], tmp_path: Path) -> None:
    done = run("ansible-playbook", *arguments, cwd=tmp_path)
    assert done.returncode == 2
    said = done.stdout + done.stderr
    assert "failed: [localhost] => no site file is named\n" in said
    assert f"  remedy: ansible-playbook -i site.yml {arguments[0]}, with the same options\n" in said
    assert "undefined" not in said


def test_a_remedy_names_the_site_of_the_run_and_is_four_lines_whoever_fails(tmp_path: Path) -> None:
    site = tmp_path / "site.yml"
    site.write_text((ROOT / "inventories/lab/site.yml").read_text())
    assert f"remedy: ansible-playbook -i {site} groundup.cloud.drain -e machine=NAME" in play(
        site, "groundup.cloud.drain"
    )
    printed = play(site, "groundup.cloud.storage_replace")
    assert "failed: [localhost] => replace: this site runs no Ceph of its own\n  where: " in printed
    assert not [one for one in ("fatal:", "Origin:", "NO MORE HOSTS LEFT") if one in printed]


def test_a_host_that_does_not_answer_is_one_line_with_its_remedy(tmp_path: Path) -> None:
    (tmp_path / "hosts").write_text("away ansible_host=127.0.0.1 ansible_port=1\n")
    (tmp_path / "play.yml").write_text("- {hosts: away, gather_facts: false, tasks: [{ansible.builtin.ping: }]}\n")
    done = run("ansible-playbook", "-i", tmp_path / "hosts", tmp_path / "play.yml")
    said = (done.stdout + done.stderr).partition("unreachable: [away] => ")[2].partition("\n\nPLAY RECAP")[0]
    assert "port 1: Connection refused" in said
    assert said.splitlines()[1:] == [
        "  remedy: see that it runs, its address and access.port in the site file, and packet filters between"
    ]


def test_a_run_of_which_no_play_has_a_host_says_so(tmp_path: Path) -> None:
    site = tmp_path / "site.yml"
    site.write_text((ROOT / "inventories/lab/site.yml").read_text())
    done = run("ansible-playbook", "-i", site, "groundup.cloud.preflight")
    assert done.returncode == 0
    assert "no task ran: the plan has no error; groundup.cloud.precheck examines the machines" in done.stdout
    done = run("ansible-playbook", "-i", site, "groundup.cloud.storage", "--limit", "seed-1")
    assert "no task ran: no play of groundup.cloud.storage has a host and a task here" in done.stdout
