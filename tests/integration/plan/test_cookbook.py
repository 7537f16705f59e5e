"""Recipes of docs/custom-configuration.md by the commands it names: the plan, and a playbook of the reader's own."""

from __future__ import annotations

import json
from pathlib import Path

from ansible_collections.groundup.cloud.tests.contract.test_cookbook import RECIPES, site_of
from ansible_collections.groundup.cloud.tests.integration.commands import run


def test_the_plan_of_all_recipes_has_the_extra_release_and_its_mistakes_stop_it(tmp_path: Path) -> None:
    site = site_of(tmp_path, *RECIPES)
    state = {"GROUNDUP_STATE": tmp_path / "state"}
    done = run("ansible-playbook", "-i", site, "groundup.cloud.plan", **state)
    assert done.returncode == 0, done.stdout + done.stderr
    plan = json.loads((tmp_path / "state/cloud/plan.json").read_text())
    (hello,) = [one for one in plan["openstack"]["releases"] if one["name"] == "hello"]
    assert hello["chart"] == str(tmp_path / "charts/hello")
    assert hello["values"]["password"] == {"$secret": "hello/password"}
    assert "hello" in (tmp_path / "state/cloud/topology.svg").read_text()
    assert "changed=0" in run("ansible-playbook", "-i", site, "groundup.cloud.plan", **state).stdout

    (tmp_path / "charts/hello/Chart.yaml").unlink()
    done = run("ansible-playbook", "-i", site, "groundup.cloud.plan", **state)
    assert done.returncode == 2
    assert "openstack.extra_releases.hello.chart" in done.stdout
    assert "it has no Chart.yaml" in " ".join(done.stdout.split()), "wherever its line is broken"


def test_a_playbook_of_ones_own_knows_the_machines(tmp_path: Path) -> None:
    site = site_of(tmp_path, "extra-release")
    done = run("ansible-playbook", "-i", site, tmp_path / "own.yml", GROUNDUP_STATE=tmp_path / "state")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "hypervisor-1 r1 10.79.0." in done.stdout
    assert "cloud.test" in done.stdout
