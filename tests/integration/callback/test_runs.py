"""Each run of a site is in its history, however it ends, and the monitoring host hears of it if the run reached it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.monitoring.runs import FILE
from ansible_collections.groundup.cloud.tests.integration.commands import ROOT, run

# In place of ssh: it keeps what it is told, and takes as long as it is asked to.
SSH = """#!/bin/sh
echo "$@" >>{home}/asked; cat >{home}/told; [ -z "$HANGS" ] || exec sleep 60
"""


class Site:
    """A site with the monitoring host seed-1 and another one."""

    def __init__(self, home: Path) -> None:
        self.home, self.history = home, home / "state/lab" / FILE
        self.history.parent.mkdir(parents=True)
        (ssh := home / "ssh").write_text(SSH.format(home=home))
        ssh.chmod(0o755)
        of_all = {
            "groundup_site": {"site": "lab", "domain": "lab.test", "monitoring": {"host": "seed-1"}},
            "ansible_user": "{{ 'root' }}",
            "ansible_ssh_executable": str(ssh), "ansible_python_interpreter": sys.executable,
        }  # fmt: skip
        about = {"groundup_host": {"provisioner": "existing", "address": "203.0.113.1"}}
        hosts = {"seed-1": about | {"ansible_host": "203.0.113.1"}, "control-1": {}}
        whose = {"domain": "lab.test", "hosts": {"seed-1": ["existing", "203.0.113.1"]}}
        (home / "state/lab/site.json").write_text(json.dumps(whose))
        (home / "hosts.yml").write_text(json.dumps({"all": {"vars": of_all, "hosts": hosts}}))

    def plays(self, *tasks: dict[str, Any], hosts: str = "seed-1", **variables: Any) -> Path:
        """Write a playbook with ``tasks`` on ``hosts``, without ssh."""
        play = {
            "name": "Play", "hosts": hosts, "connection": "local", "gather_facts": False, "tasks": list(tasks),
            "vars": {"groundup_layer": "host", **variables},
        }  # fmt: skip
        (self.home / "play.yml").write_text(json.dumps([play]))
        return self.home / "play.yml"

    def run(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        return run("ansible-playbook", "-i", self.home / "hosts.yml", self.home / "play.yml", *arguments,
                   cwd=None, GROUNDUP_STATE=self.home / "state", **environment)  # fmt: skip

    def rows(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.history.read_text().splitlines()] if self.history.exists() else []

    def told(self) -> list[dict[str, Any]]:
        """Return the runs that the monitoring host was told of last."""
        found: list[dict[str, Any]] = json.loads((self.home / "told").read_text())["runs"]
        return found

    def asked(self) -> str:
        return (self.home / "asked").read_text() if (self.home / "asked").exists() else ""


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


TOUCH = {"ansible.builtin.command": "true", "tags": ["apply"]}


def test_a_run_and_what_it_changed_is_told_without_its_extra_variables(site: Site) -> None:
    site.plays(TOUCH)
    done = site.run("--tags", "apply", "-e", "password=hush-word")
    assert done.returncode == 0, done.stdout + done.stderr
    (row,) = site.told()
    assert (row["changed"], row["tags"], row["stopped"], row["lives"]) == ({"host": 1}, ["apply"], False, False)
    assert row["ended"] >= row["began"]
    assert "203.0.113.1 sh -c" in site.asked(), "by the host's own variables"
    assert "hush-word" not in site.history.read_text() + site.asked()


def test_a_run_that_fails_names_layer_and_host(site: Site) -> None:
    site.plays({"ansible.builtin.fail": {"msg": "hush-word"}})
    assert site.run().returncode == 2
    (row,) = site.told()
    assert (row["stopped"], row["failed"]) == (True, "host on seed-1")
    assert "hush-word" not in site.history.read_text()


def test_a_run_that_is_killed_did_not_end_and_the_next_says_so(site: Site) -> None:
    book = site.plays({"ansible.builtin.command": "sleep 60"})
    program: list[str | Path] = [
        Path(sys.executable).with_name("ansible-playbook"),
        "-i",
        site.home / "hosts.yml",
        book,
    ]
    more = {"ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"), "ANSIBLE_COLLECTIONS_PATH": str(ROOT / ".run")}
    more["GROUNDUP_STATE"] = str(site.home / "state")
    with subprocess.Popen(program, env=os.environ | more, start_new_session=True) as process:
        end = time.monotonic() + 60
        while not site.rows() and time.monotonic() < end:
            time.sleep(0.1)
        os.killpg(process.pid, signal.SIGKILL)
    site.plays(TOUCH)
    assert site.run().returncode == 0
    assert [("ended" in row, row["lives"]) for row in site.told()] == [(False, False), (True, False)]


def test_a_dry_run_is_recorded_and_told_by_the_next(site: Site) -> None:
    site.plays(TOUCH)
    assert site.run("--check").returncode == 0
    assert [row["check"] for row in site.rows()] == [True]
    assert site.asked() == "", "nothing is written on a host"


def test_a_document_and_a_run_that_another_one_started_are_no_runs_of_their_own(site: Site) -> None:
    site.plays(TOUCH, groundup_document=True)
    assert site.run().returncode == 0
    site.plays(TOUCH)
    assert site.run(GROUNDUP_WITHIN_RUN="1").returncode == 0
    assert (site.rows(), site.asked()) == ([], "")


def test_a_monitoring_host_that_hangs_costs_a_run_a_warning_and_seconds(site: Site) -> None:
    site.plays(TOUCH)
    done = site.run(HANGS="1")
    assert done.returncode == 0, done.stdout
    assert "the page of the site on seed-1 is not told of this run" in done.stderr.replace("\n", " ")
    assert [row["stopped"] for row in site.rows()] == [False]


def test_one_that_no_task_reached_is_not_asked(site: Site) -> None:
    site.plays({"ansible.builtin.debug": {"msg": "elsewhere"}, "delegate_to": "localhost"})
    assert site.run().returncode == 0
    assert len(site.rows()) == 1
    assert site.asked() == ""
    site.plays(TOUCH | {"delegate_to": "{{ groundup_site.monitoring.host }}"}, hosts="control-1")
    assert site.run().returncode == 0
    assert "203.0.113.1" in site.asked(), "by a task that was delegated to it"


def test_a_history_that_cannot_be_written_is_a_warning(site: Site) -> None:
    site.history.mkdir()
    site.plays(TOUCH)
    done = site.run()
    assert done.returncode == 0, done.stdout
    assert "the history of runs lacks this one" in done.stderr.replace("\n", " ")
