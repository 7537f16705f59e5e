"""The playbook: which layers run for a new upgrade, an open one, none; killed after every effect and gone on with."""

from __future__ import annotations

import itertools
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube import run_lease
from ansible_collections.groundup.cloud.plugins.plugin_utils.paths import COLLECTION
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import load_site
from ansible_collections.groundup.cloud.plugins.plugin_utils.upgrade import job, journal, nodes
from ansible_collections.groundup.cloud.plugins.plugin_utils.upgrade.job import UpgradeJob
from ansible_collections.groundup.cloud.plugins.plugin_utils.upgrade.run import UpgradeRun
from jinja2 import Environment

from .cluster import CONTROL, NODES, SAID, Cluster, moved, plan_of

SITE = "lab-ha"
PLAYS = yaml.safe_load((COLLECTION / "playbooks/kubernetes_upgrade.yml").read_text())
LAYERS = ["Artifacts", "Publish", "Back up"]
READER = Environment(autoescape=True)


class KilledRun(BaseException):
    """The run is gone."""


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Cluster:
    made, ticks = Cluster(), itertools.count(step=100)
    monkeypatch.setattr("time.monotonic", lambda: float(next(ticks)))
    monkeypatch.setattr("time.sleep", lambda _: None)
    monkeypatch.setattr("os.fsync", lambda _: None)
    monkeypatch.setattr(journal, "state_dir", lambda _: tmp_path)
    (tmp_path / "admin.conf").touch()
    monkeypatch.setattr(job, "kubeconfig_path", lambda _: tmp_path / "admin.conf")
    monkeypatch.setattr(job, "Api", lambda _: made)
    planned = cache(plan_of)
    monkeypatch.setattr(UpgradeJob, "plan", lambda _, other=None: planned(version=other or "1.37.2"))
    monkeypatch.setattr(job, "preview", lambda *_: "")
    monkeypatch.setattr(nodes, "drain", lambda *_, **__: None)
    monkeypatch.setattr(run_lease, "of_site", lambda _: [])
    return made


def said(answer: dict[str, Any]) -> dict[str, bool]:
    """Return what the play "Decide" says of a run."""
    (facts,) = [
        task["ansible.builtin.set_fact"]
        for play in PLAYS
        for task in play.get("tasks", ())
        if play["name"] == "Decide" and "ansible.builtin.set_fact" in task
    ]
    given = {"groundup_dry_run": False, "upgrade_found": answer}
    return {name: bool(READER.compile_expression(text.strip("{} "))(given)) for name, text in facts.items()}


def layers(answer: dict[str, Any]) -> list[str]:
    """Return which layers run."""
    given = {"hostvars": {"localhost": said(answer)}}
    plays = [(play["name"], play["when"]) for play in PLAYS if "when" in play]
    return [name for name, when in plays if READER.compile_expression(when)(given)]


class Run:
    """A run of the playbook that may end after each of its effects."""

    def __init__(self, cluster: Cluster, lives: int) -> None:
        self.cluster, self.lives, self.done = cluster, lives, list[str]()

    def effect(self, what: str) -> None:
        self.done.append(what)
        self.lives -= 1
        if self.lives == 0:
            raise KilledRun

    def go(self) -> None:
        asked = UpgradeJob(site_file="", say=lambda _: None, seen=SAID)
        answer = asked.check()
        for layer in layers(answer):
            self.effect(layer)
        if not said(answer)["upgrade_due"]:
            return
        for host in answer["staged"]:
            self.effect(f"stage {host}")
        if not answer["open"]:
            UpgradeRun(job=asked).begin()
            self.effect("begin")
        for host in answer["control"]:
            self._step(UpgradeRun(job=asked, kind="control", hosts=[host]), lambda host=host: moved(self.cluster, host))
        if answer["add_ons"]:
            self._step(UpgradeRun(job=asked, kind="add-ons"), self._add_ons)
        for batch in answer["kubelets"]:
            newer = dict.fromkeys(batch, "v1.37.2")
            work = UpgradeRun(job=asked, kind="kubelet", hosts=batch, evict=answer["drains"])
            self._step(work, lambda newer=newer: self.cluster.kubelets.update(newer))
        UpgradeRun(job=asked).end()
        self.effect("end")

    def _step(self, step: UpgradeRun, work: Any) -> None:
        step.enter()
        self.effect(f"enter {step.kind} {','.join(step.hosts)}")
        work()
        self.effect(f"{step.kind} {','.join(step.hosts)}")
        step.leave()
        self.effect(f"leave {step.kind} {','.join(step.hosts)}")

    def _add_ons(self) -> None:
        self.cluster.proxy, self.cluster.dns = "v1.37.2", "v1.14.6"


def test_a_kubelet_that_a_kill_left_stopped_starts_before_the_cluster_is_asked() -> None:
    names = [play["name"] for play in PLAYS]
    assert names.index("Ask nodes") < names.index("Decide")
    wake, look = yaml.safe_load((COLLECTION / "roles/kubernetes/tasks/upgrade_look.yml").read_text())
    assert "'step': 'upgrade_wake'" in wake["groundup.cloud.node"]
    assert wake["when"] == "kubernetes_control and kubernetes_plan.upgrading | length > 0"
    assert (wake["tags"], look["tags"]) == (["apply"], ["check", "apply"]), "a check starts nothing"


def test_an_open_upgrade_publishes_what_was_corrected_and_a_new_one_alone_is_backed_up(cluster: Cluster) -> None:
    asked = UpgradeJob(site_file="", say=lambda _: None, seen=SAID)
    assert layers(asked.check()) == LAYERS
    UpgradeRun(job=asked).begin()
    assert layers(asked.check()) == ["Artifacts", "Publish"]
    journal.end(SITE)
    moved(cluster, *CONTROL)
    cluster.kubelets, cluster.proxy, cluster.dns = dict.fromkeys(NODES, "v1.37.2"), "v1.37.2", "v1.14.6"
    assert layers(asked.check()) == []


def test_it_publishes_for_the_site_files_version_while_the_inventory_has_the_live_one(cluster: Cluster) -> None:
    places = {play["name"]: place for place, play in enumerate(PLAYS)}
    play = PLAYS[places["Version"]]
    assert places["Decide"] < places["Version"] < places["Artifacts"]
    assert play["hosts"].split(":") == ["localhost", "seed", "!absent"], "hosts of the cluster go by kubernetes_site"
    (fact,) = play["tasks"]
    assert fact["ansible.builtin.set_fact"] == {"groundup_site": "{{ hostvars.localhost.upgrade_found.target }}"}
    asked = UpgradeJob(site_file="", say=lambda _: None, seen=SAID)
    UpgradeRun(job=asked).begin()
    written = load_site(COLLECTION / f"inventories/{SITE}/site.yml")
    assert "kubernetes-1.37.2" not in journal.live_plan(written).supply.chosen
    assert "kubernetes-1.37.2" in asked.check()["target"]["supply"]["chosen"]
    assert cluster.patched == {}


@pytest.mark.usefixtures("cluster")
def test_a_run_killed_after_any_effect_publishes_goes_on_and_leaves_hosts_that_are_done_as_they_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for lives in itertools.count(1):
        fresh = Cluster()
        monkeypatch.setattr(job, "Api", lambda _, fresh=fresh: fresh)
        first = Run(fresh, lives)
        try:
            first.go()
        except KilledRun:
            pass
        else:
            break
        again = Run(fresh, 1000)
        again.go()
        begun, ended = "begin" in first.done, first.done[-1] == "end"
        layers_again = [] if ended else LAYERS[:2] if begun else LAYERS
        assert again.done[: len(layers_again)] == layers_again, f"killed after {lives}"
        over = {host for one in first.done if one.startswith("leave kubelet") for host in one.split()[-1].split(",")}
        assert not {f"stage {host}" for host in over} & {*again.done}
        for kind in ("control", "kubelet"):
            left = [one for one in first.done if one.startswith(f"leave {kind}")]
            assert not {*left} & {*again.done}, "a host that is done is not changed again"
        assert journal.under_way(SITE) is None
    assert lives > 30
