"""The playbook groundup.cloud.plan: findings decide its end, files change only when the plan does."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from ansible_collections.groundup.cloud.tests.integration.commands import ROOT, run

LAB = (ROOT / "inventories/lab/site.yml").read_text()


class Runner:
    """Runs the playbook on a site file of its own."""

    def __init__(self, directory: Path) -> None:
        self.site = directory / "site.yml"
        self.state = directory / "state"
        self.site.write_text(LAB)

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Return the finished run."""
        return run("ansible-playbook", "-i", self.site, "groundup.cloud.plan", *arguments, GROUNDUP_STATE=self.state)


@pytest.fixture
def runner(tmp_path: Path) -> Runner:
    return Runner(tmp_path)


def test_the_plan_is_written_once_and_only_again_when_it_differs(runner: Runner) -> None:
    first = runner.run()
    assert first.returncode == 0, first.stdout + first.stderr
    assert "changed=1" in first.stdout
    plan = runner.state / "lab/plan.json"
    assert json.loads(plan.read_text())["site"] == "lab"
    assert (runner.state / "lab/topology.svg").read_text().startswith("<svg")
    assert sorted(path.name for path in plan.parent.iterdir()) == ["dns.zone", "format", "plan.json", "topology.svg"]
    assert "changed=0" in runner.run().stdout
    runner.site.write_text(LAB.replace("count: 2", "count: 3"))
    assert "changed=1" in runner.run().stdout
    assert "worker-3" in plan.read_text()


def test_targets_and_rules_are_there_while_the_site_has_monitoring(runner: Runner) -> None:
    runner.site.write_text(LAB + "monitoring: {enabled: true}\n")
    first = runner.run()
    assert first.returncode == 0, first.stdout + first.stderr
    place = runner.state / "lab/monitoring"
    assert {path.stem for path in place.glob("targets/*.json")} == {"host", "kubernetes", "monitoring"}
    assert {path.stem for path in place.glob("rules/*.yml")} == {"host", "kubernetes", "openstack", "monitoring"}
    assert "changed=0" in runner.run().stdout
    runner.site.write_text(LAB)
    assert "changed=1" in runner.run("--check").stdout
    assert (place / "scrape.yml").exists()
    assert "changed=1" in runner.run().stdout
    assert [path for path in place.rglob("*") if path.is_file()] == []
    assert "changed=0" in runner.run().stdout


def test_check_mode_predicts_and_writes_nothing(runner: Runner) -> None:
    done = runner.run("--check", "--diff")
    assert done.returncode == 0
    assert "changed=1" in done.stdout
    assert "control-1.lab.test" in done.stdout
    assert not runner.state.exists()
    runner.run()
    assert "changed=0" in runner.run("--check", "--diff").stdout


def test_an_error_fails_with_the_table_and_leaves_the_plan_in_force(runner: Runner) -> None:
    runner.run()
    before = (runner.state / "lab/plan.json").read_text()
    runner.site.write_text(LAB + "edge: {address: 10.90.0.1}\n")
    done = runner.run()
    assert done.returncode == 2
    assert "duplicate-address" in done.stdout
    assert "10.90.0.1 on management is taken twice" in done.stdout
    assert (runner.state / "lab/plan.json").read_text() == before


def test_one_host_is_one(runner: Runner) -> None:
    runner.site.write_text((ROOT / "inventories/edge/site.yml").read_text().replace("[keystone]", "[keystnoe]"))
    done = runner.run()
    assert "failed: [localhost] => edge: 1 host, 1 error" in done.stdout + done.stderr


def test_a_warning_fails_only_when_the_site_is_strict(runner: Runner) -> None:
    runner.site.write_text(LAB.replace("control: {count: 1", "control: {count: 2"))
    lenient, strict = runner.run(), runner.run("-e", "plan_strict=true")
    assert (lenient.returncode, strict.returncode) == (0, 2)
    assert "even-quorum" in lenient.stdout


def test_a_directory_of_ones_own_gets_the_plan_even_with_errors(runner: Runner, tmp_path: Path) -> None:
    runner.site.write_text(LAB.replace("version: 1.36.3", "version: 1.35.0"))
    assert runner.run("-e", f"plan_output={tmp_path / 'review'}").returncode == 2
    assert "version-not-in-matrix" in (tmp_path / "review/topology.svg").read_text()
    assert not runner.state.exists()


def test_a_file_that_cannot_be_read_says_what_to_correct(runner: Runner) -> None:
    runner.site.write_text(LAB.replace("cidr: 10.90.0.0/24", "cidr: 10.90.0.1/24"))
    done = runner.run()
    assert done.returncode != 0
    words = " ".join((done.stdout + done.stderr).split())
    assert "networks.management.cidr" in words
    assert "write 10.90.0.0/24" in words
    assert "Traceback" not in words


def test_a_former_plan_is_compared_and_nothing_is_written(runner: Runner, tmp_path: Path) -> None:
    runner.run()
    state = runner.state / "lab"
    before = {path.name: path.read_bytes() for path in state.iterdir()}
    same = runner.run("-e", f"against={state}")
    assert (same.returncode, same.stdout) == (0, "a run would change nothing\n"), same.stderr
    runner.site.write_text(LAB.replace("count: 2", "count: 3"))
    table, document = (runner.run("-e", f"against={state}", "-e", f"output={form}") for form in ("table", "json"))
    assert (table.returncode, document.returncode) == (2, 2)
    assert table.stdout.splitlines()[0].split()[:3] == ["layer", "kind", "what"]
    assert json.loads(document.stdout)["counts"]["metal"] == {"host": 1}
    assert "failed: [localhost] => a run would change: " in table.stderr
    none = runner.run("-e", f"against={tmp_path / 'gone'}")
    assert (none.returncode, none.stdout) == (4, "")
    assert "unknown: there is nothing to compare with" in none.stderr
    assert {path.name: path.read_bytes() for path in state.iterdir()} == before


def test_a_clone_plans_the_site_file_itself_and_an_installation_is_one_too(runner: Runner) -> None:
    for place in (ROOT, ROOT / ".run"):
        done = runner.run("-e", f"against={place}")
        assert (done.returncode, done.stdout) == (0, "a run would change nothing\n"), done.stderr
    assert not runner.state.exists()


def test_the_state_of_a_newer_version_ends_the_run_with_both_numbers(runner: Runner) -> None:
    (runner.state / "lab").mkdir(parents=True)
    (runner.state / "lab/format").write_text("9999\n")
    done = runner.run()
    assert done.returncode == 4
    words = " ".join(done.stderr.split())
    assert "has format 9999, this version of groundup.cloud knows formats up to 1" in words
    assert "Traceback" not in words
    assert [path.name for path in (runner.state / "lab").iterdir()] == ["format"]
