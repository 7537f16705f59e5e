"""Approval of a machine that waits for it: Ironic's mark, the journal, the page's record."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal import install as module
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.install import approve
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.journal import Journal, home_of
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.sighting import read
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan
from ansible_collections.groundup.cloud.tests.unit.metal.inventories import USED, told
from ansible_collections.groundup.cloud.tests.unit.metal.test_discovery import Seed as Watching
from ansible_collections.groundup.cloud.tests.unit.metal.test_install import plan

__all__ = ["plan"]


class Told(Watching):
    """A seed where worker-1 waits for approval."""

    def __init__(self, **_given: Any) -> None:
        super().__init__(None)
        self.nodes["node-1"] |= {"name": "worker-1", "provision_state": "manageable"}
        self.told["worker-1"] = told(1, groundup_disks=[USED])


@pytest.mark.parametrize("refusal", ["", "502 the page is down"])
def test_an_approval_is_ironic_s_mark_the_journal_s_line_and_the_page_s_record(
    plan: Plan, monkeypatch: pytest.MonkeyPatch, refusal: str
) -> None:
    seed, kept, said = Told(), list[tuple[str, str, str]](), list[str]()

    class Keeps:
        def decide(self, machine: str, verb: str, _by: str, *, about: str) -> str:
            kept.append((machine, verb, about))
            return refusal

    monkeypatch.setattr(module, "Ironic", lambda **_given: seed)
    monkeypatch.setattr(module, "page_of", lambda _plan: Keeps())
    approve(Changes(check=True), plan, "worker-1", said.append)
    assert (kept, seed.nodes["node-1"]["extra"]) == ([], {})
    approve(Changes(check=False), plan, "worker-1", said.append)
    one = read({"uuid": "node-1"}, seed.told["worker-1"] or {})
    assert kept == [("worker-1", "approve", one.shown)]
    assert seed.nodes["node-1"]["extra"] == one.approval("worker-1")
    assert "by a playbook" in Journal(home_of(plan.site) / "worker-1.jsonl").doing
    assert any("does not keep who approved worker-1" in line for line in said) == bool(refusal)
    seed.told["worker-1"] = None
    with pytest.raises(GroundupError, match="no machine waits to become worker-1"):
        approve(Changes(check=False), plan, "worker-1", said.append)  # it was not inspected: nobody saw its disks
    with pytest.raises(GroundupError, match="no machine waits to become worker-2"):
        approve(Changes(check=False), plan, "worker-2", said.append)
