"""The action of module failure: what logins said, the report and its file; what ends a look lets nothing be done."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.action import failure
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.plugin_utils import site_identity
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud import connection
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud import failure as looking
from ansible_collections.groundup.cloud.plugins.plugin_utils.compose import site_plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.paths import COLLECTION

from .hypervisors import HERE, THERE, Hypervisors

SITE = COLLECTION / "inventories/cloud/site.yml"
NOBODY = "Failed to connect to the host via ssh: ssh: connect to host 10.79.0.128 port 22: No route to host"
LOGINS = {
    HERE: {"unreachable": True, "msg": NOBODY},
    THERE: {"ping": "pong"},
    "storage-1": {"ping": "pong"},
    "worker-1": None,
}


def act(monkeypatch: pytest.MonkeyPatch, operator: Any, *, check: bool = False, **given: Any) -> Any:
    """Return the result, and what was printed."""
    printed: list[str] = []
    monkeypatch.setattr(connection, "of_site", lambda _: operator)
    monkeypatch.setattr(site_identity, "refuse_other", lambda *_: None)
    monkeypatch.setattr(failure, "not_there", lambda _, host: "" if host.name in LOGINS else "it is not made")
    action = object.__new__(failure.ActionModule)
    action._display = SimpleNamespace(display=printed.append)
    action.changes = Changes(check=check)
    known: dict[str, Any] = {name: {"failure_said": {"ping": "pong"}} for name in site_plan(SITE).hosts}
    action.variables = {"hostvars": known | {name: {"failure_said": said} for name, said in LOGINS.items()}}
    action.variables |= given.pop("variables", {})
    asked = {"step": "look", "site_file": str(SITE), "result": "failure_said", "output": "table", "path": None}
    return action.work({**asked, "found": {}, **given}), printed


def test_the_report_is_printed_and_its_file_is_the_owners_alone(
    monkeypatch: pytest.MonkeyPatch, operator: Any, nova: Hypervisors, tmp_path: Path
) -> None:
    for name, at in ((HERE, "2020-01-01T00:00:00"), (THERE, "2026-01-01T00:00:00")):
        nova.service(name)["updated_at"] = at
    nova.service()["state"] = "down"
    seen: list[Any] = []
    real = looking.look

    def look(*given: Any, now: Any) -> Any:
        seen.append(given[2])
        return real(*given, now=now)

    monkeypatch.setattr(looking, "look", look)
    path = tmp_path / "report.json"
    result, _ = act(monkeypatch, operator, check=True, path=str(path))
    assert not path.exists(), "a dry run writes nothing"
    result, printed = act(monkeypatch, operator, path=str(path), output="json")
    words = {name: one.word for name, one in seen[0].items()}
    assert words == {HERE: "silent", THERE: "answers", "storage-1": "answers"}
    assert json.loads(printed[0]) == json.loads(path.read_text()) == json.loads(json.dumps(result["failure"]))
    assert path.stat().st_mode & 0o777 == 0o600, "it names people"
    assert result["failure"]["hypervisors"][0]["host"] == HERE
    assert result["evacuate"] == "", "the site has no policy"


def test_what_ends_the_look_is_unknown_and_names_nobody(monkeypatch: pytest.MonkeyPatch, operator: Any) -> None:
    def silent(*_: Any, **__: Any) -> Any:
        raise GroundupError("Nova does not answer", where="", why="", remedy="")

    assert act(monkeypatch, operator, variables={"ansible_limit": "x"})[0]["unreachable"]
    monkeypatch.setattr(looking, "look", silent)
    result, printed = act(monkeypatch, operator)
    assert (result["unreachable"], "evacuate" in result, printed) == (True, False, [])


@pytest.mark.parametrize(("state", "failed"), [("clean", False), ("failed", True)])
def test_the_judgement_is_the_exit_code(
    monkeypatch: pytest.MonkeyPatch, operator: Any, state: str, *, failed: bool
) -> None:
    result, _ = act(monkeypatch, operator, step="judge", found={"state": state, "summary": "so it is"})
    assert bool(result.get("failed")) is failed
