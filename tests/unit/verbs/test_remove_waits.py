"""No node that works is removed while an upgrade is open; a dead one may be what the upgrade waits for."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.removal import LeavingNode
from ansible_collections.groundup.cloud.plugins.plugin_utils.upgrade import journal
from ansible_collections.groundup.cloud.plugins.plugin_utils.verbs.remove import Remove

NODE = LeavingNode(
    name="worker-1", found=True, ready=True, control=False, address="", others=("worker-2",),
    control_left=("control-1",), pods=(), bare=(), volumes=(),
)  # fmt: skip


def test_a_node_that_works_is_not_removed_while_an_upgrade_is_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GROUNDUP_STATE", str(tmp_path))
    asked: Any = SimpleNamespace(
        plan=SimpleNamespace(site="lab"), machine="worker-1", force=(), parallel=0, timeout=0, method=""
    )
    assert Remove(asked).refuse(NODE) == NODE
    journal.begin("lab", source="1.36.3", target="1.37.2", versions=["1.36.3", "1.37.2"])
    with pytest.raises(GroundupError, match=r"groundup\.cloud\.remove waits"):
        Remove(asked).refuse(NODE)
    dead = replace(NODE, ready=False)
    assert Remove(asked).refuse(dead) == dead
