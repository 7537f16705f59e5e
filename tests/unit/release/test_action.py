"""The action of the verb: in check mode no step changes anything; a rollout that stops it says what is next."""

from __future__ import annotations

import time
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from ansible_collections.groundup.cloud.plugins.action import openstack_upgrade, rollout
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.module_utils._base.wait import wait_until
from ansible_collections.groundup.cloud.plugins.plugin_utils import site_identity
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.graph import Graph, one_by_one
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube import run_lease
from ansible_collections.groundup.cloud.plugins.plugin_utils.paths import COLLECTION
from ansible_collections.groundup.cloud.plugins.plugin_utils.release.run import ReleaseUpgrade

from .cloud import STEP, plan_of, tasks

GIVEN: dict[str, Any] = {
    "site_file": "site.yml", "release": "", "force": [], "backup_hours": 1.0, "absent": [], "page": None,
    "hosts": ["hypervisor-1"], "lacking": {"hypervisor-1": "failed"}, "said": {},
}  # fmt: skip
BESIDE = ("check", "first", "rollout", "release_stage", "release", "verify")
STEPS = [one for one in [*tasks(), "joined", "lost"] if one not in BESIDE]


def action(monkeypatch: pytest.MonkeyPatch, *, check: bool) -> Any:
    plan = plan_of()
    monkeypatch.setattr(openstack_upgrade, "site_plan", lambda _file, *, target: plan if target else None)
    monkeypatch.setattr(openstack_upgrade, "open_store", lambda *_, **__: SimpleNamespace(get=lambda _name: ""))
    monkeypatch.setattr(site_identity, "refuse_other", lambda *_: None)
    asked: Any = openstack_upgrade.ActionModule.__new__(openstack_upgrade.ActionModule)
    asked.changes, asked.variables = Changes(check=check), {}
    asked._display = SimpleNamespace(display=lambda _text: None)
    asked._task = SimpleNamespace(check_mode=check)
    return asked


@pytest.mark.parametrize("step", STEPS)
def test_in_check_mode_no_step_of_it_changes_anything(monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    asked = action(monkeypatch, check=True)
    assert asked.work({**GIVEN, "step": step}) == {"skipped": True, "msg": "nothing changes in check mode"}


def test_the_lease_is_renewed_while_a_step_lasts_longer_than_it(monkeypatch: pytest.MonkeyPatch) -> None:
    renewed = list[str]()

    def of_site(site: str) -> list[str]:
        renewed.append(site)
        if len(renewed) == 3:
            raise GroundupError("another run", where="w", why="y", remedy="r")
        return ["said once"]

    def lasts(_run: object) -> dict[str, Any]:
        assert not wait_until(lambda: len(renewed) < 5, timeout=20, pause=0.01), "a lost one is tried again"
        return {"changed": True}

    monkeypatch.setattr(run_lease, "of_site", of_site)
    monkeypatch.setattr(run_lease, "RENEWED", timedelta(milliseconds=1))
    monkeypatch.setattr(ReleaseUpgrade, "data", lasts)
    asked = action(monkeypatch, check=False)
    assert asked.work({**GIVEN, "step": "data"}) == {"changed": True, "warnings": ["said once"]}
    ended = len(renewed)
    time.sleep(0.05)
    assert len(renewed) == ended


def test_a_step_that_stops_names_service_job_cause_and_the_way_on() -> None:
    card = {"release": "nova", "object": "Job/nova-db-sync-1", "what": "it failed", "next": "kubectl logs job/x"}
    done = rollout._goes_on({"failed": True, "msg": "failed: nova; not started: heat", "cards": [card]})
    assert done["msg"] == (
        "failed: nova; not started: heat; stopped at nova, Job/nova-db-sync-1: it failed. kubectl logs job/x; "
        "put that right, then groundup.cloud.openstack_upgrade goes on"
    )
    assert done["failed"]


def test_one_by_one_is_a_chain_that_every_need_allows() -> None:
    needs = [(one.name, one.needs) for one in plan_of().openstack.releases]
    chain = one_by_one(needs)
    order = [name for name, _ in chain]
    assert sorted(order) == sorted(name for name, _ in needs)
    assert all(order.index(need) < order.index(name) for name, needed in needs for need in needed)
    graph = Graph(chain, kind="release", where="here")
    for name in order:
        assert graph.ready() == [name]
        graph.done(name)


def test_a_hosts_last_words_are_told_without_the_sites_secrets(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    asked = action(monkeypatch, check=False)
    secrets = {"nova/rabbitmq": "q9vXw2LpZt7Rk4Yh"}
    store = SimpleNamespace(get=lambda _name: "", items=lambda: secrets)
    monkeypatch.setattr(openstack_upgrade, "kubeconfig_path", lambda _site: tmp_path)
    monkeypatch.setattr(Path, "is_file", lambda _path: True)
    monkeypatch.setattr(openstack_upgrade, "open_store", lambda *_, **__: store)
    monkeypatch.setattr(run_lease, "of_site", lambda _site: [])
    said = {"hypervisor-1": {"nova-compute": "failed (failed): no way to nova:q9vXw2LpZt7Rk4Yh@rabbitmq"}}
    with pytest.raises(GroundupError, match=r"hypervisor-1: failed \[.*; nova-compute is failed \(failed\)") as caught:
        asked.work({**GIVEN, "step": "lost", "said": said, "lacking": {"hypervisor-1": "failed q9vXw2LpZt7Rk4Yh"}})
    assert "q9vXw2LpZt7Rk4Yh" not in str(caught.value)


def test_what_was_accepted_counts_where_hypervisors_are_chosen_and_nowhere_else() -> None:
    plays = yaml.safe_load((COLLECTION / "playbooks/openstack_upgrade.yml").read_text())
    given = [task[STEP] for play in plays for task in play.get("tasks", ()) if STEP in task]
    for name in ("force", "absent"):
        assert [one["step"] for one in given if name in one] == ["check", "move"], name
    (release,) = (play for play in plays if play["name"] == "Hypervisors")
    assert "openstack_upgrade_moved.hypervisors" in release["vars"]["hypervisor_batches"]
