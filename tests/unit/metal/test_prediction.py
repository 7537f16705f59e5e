"""What a dry run says of machines from power-off: what a run would do and refuse, and nothing is changed."""

from __future__ import annotations

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.journal import Journal, home_of
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.way import WayStep
from ansible_collections.groundup.cloud.plugins.plugin_utils.paths import state_dir
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan
from ansible_collections.groundup.cloud.tests.unit.metal.test_install import Seed, go, plan

__all__ = ["plan"]


def test_a_prediction_names_the_machines_and_changes_nothing(plan: Plan) -> None:
    changes = Changes(check=True)
    assert go(plan, changes=changes) == {}
    assert changes.done == ["install worker-1", "install worker-2"]
    assert not (state_dir(plan.site) / "metal").exists()


def test_a_machine_that_a_run_would_refuse_is_refused_in_a_prediction_too(
    plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    Journal(home_of(plan.site) / "worker-2.jsonl").note(WayStep(state="installed", verb="done"))
    (refused,) = go(plan, check=True).values()
    assert refused.what == "it was installed, and the seed's Ironic does not know that"
    assert refused.where == "worker-2"

    asked = silent(monkeypatch)
    with pytest.raises(GroundupError, match="the seed does not answer"):
        go(plan, check=True)
    assert len(asked) == 1


def test_a_seed_that_is_still_to_be_made_is_asked_once_and_not_for_each_machine(
    plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, changes = silent(monkeypatch), Changes(check=True)
    assert go(plan, changes=changes) == {}
    assert (len(asked), len(changes.done)) == (1, 2), "each question may wait ten seconds for an address nobody has"


def test_a_machine_whose_erasure_has_not_ended_is_refused_in_a_prediction_too(plan: Plan) -> None:
    Journal(home_of(plan.site) / "worker-1.jsonl").note(WayStep(state="retiring", verb="wait"))
    changes = Changes(check=True)
    (refused,) = go(plan, changes=changes).values()
    assert (refused.what, changes.done) == ("it is being retired", ["install worker-2"])


def silent(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Have the seed not answer; return who was asked."""
    asked: list[object] = []

    def ask(seed: Seed, _identity: str = "") -> None:
        asked.append(seed)
        raise GroundupError("the seed does not answer", where="", why="", remedy="")

    for name in ("node", "nodes"):
        monkeypatch.setattr(Seed, name, ask)
    return asked
