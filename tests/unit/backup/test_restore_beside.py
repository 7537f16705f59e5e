"""Nothing is rotated or upgraded while a restore has begun and not ended."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.action import openstack_upgrade, rotate, upgrade
from ansible_collections.groundup.cloud.plugins.plugin_utils.backup.restore import journal
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError

LAB = SimpleNamespace(site="lab")


class Job:
    """Stands for what the step would work with."""

    def __init__(self, **_: Any) -> None:
        """Take anything."""

    def plan(self) -> Any:
        return LAB


@pytest.mark.parametrize(
    ("action", "given"),
    [
        (rotate, {"what": "database"}),
        (upgrade, {"step": "check", "force": (), "seen": {}, "until": "end"}),
        (openstack_upgrade, {"step": "check", "release": "", "force": (), "backup_hours": 1, "absent": (),
                             "said": {}, "lacking": {}}),
    ],
)  # fmt: skip
def test_who_changes_what_is_restored_waits_for_its_end(
    action: Any, given: dict[str, Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("GROUNDUP_STATE", str(tmp_path))
    for name, value in {
        "site_plan": lambda *_, **__: LAB, "UpgradeJob": Job, "ReleaseUpgrade": Job,
        "site_identity": SimpleNamespace(refuse_other=lambda *_: None),
    }.items():  # fmt: skip
        monkeypatch.setattr(action, name, value, raising=False)
    journal.begin("lab", None, source="set-1", sha256="0", parts=["mariadb"], until="")
    work: Any = action.ActionModule.__new__(action.ActionModule)
    work.variables, work._display = {}, SimpleNamespace(display=print)
    with pytest.raises(GroundupError, match="a restore of mariadb from set-1 has begun and not ended"):
        work.work({"site_file": "site.yml", **given})
