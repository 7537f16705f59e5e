"""A former plan is read from what the operator names; whatever is none is refused with its reason, and nothing runs."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.action.plan import ActionModule
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.plugin_utils import former_plan, state_format
from ansible_collections.groundup.cloud.plugins.plugin_utils.actions import documented
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import load_site, make_plan, to_json
from ansible_collections.groundup.cloud.plugins.plugin_utils.process import Finished, Processes

LAB = Path(__file__).resolve().parents[3] / "inventories/lab/site.yml"
Given = Callable[[Path], Path]
FAILS = "- hosts: localhost\n  gather_facts: false\n  tasks: [{fail: {msg: it lacks pydantic}}]\n"


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GROUNDUP_STATE", str(tmp_path / "state"))
    return tmp_path / "state/lab"


def written(place: Path, **changes: Any) -> Path:
    """Write the lab's plan with ``changes`` into a directory, and return the file."""
    place.mkdir(parents=True, exist_ok=True)
    path = place / "plan.json"
    path.write_text(json.dumps(json.loads(to_json(make_plan(load_site(LAB)))) | changes))
    return path


def compare(against: Path, *, report: str = "table", site: Path = LAB) -> tuple[dict[str, Any], str]:
    """Return the action's result, and what it printed."""
    printed: list[str] = []
    action: Any = ActionModule.__new__(ActionModule)
    action.variables, action.changes = {}, Changes(check=False)
    action._display = type("Display", (), {"display": lambda _, text: printed.append(text)})()
    defaults = {name: one.get("default") for name, one in documented("plan").items()}
    given = {**defaults, "site_file": str(site), "against": str(against), "report": report}
    return action.work(given), "\n".join(printed)


def text(content: str) -> Given:
    def make(home: Path) -> Path:
        (home / "former.json").write_text(content)
        return home / "former.json"

    return make


def newer(home: Path) -> Path:
    written(home / "newer")
    (home / "newer" / state_format.FILE).write_text("9999\n")
    return home / "newer"


def failing(home: Path) -> Path:
    (home / "old/playbooks").mkdir(parents=True)
    (home / "old/playbooks/plan.yml").write_text(FAILS)
    return home / "old"


def no_text(home: Path) -> Path:
    (home / "plan.json").write_bytes(b"\xff\xfe")
    return home / "plan.json"


REFUSED: dict[str, tuple[Given, str, str]] = {
    "nothing": (lambda home: home / "gone", "there is nothing to compare with", "-e against=PATH"),
    "an empty directory": (lambda home: home, "has no plan.json, and is no groundup.cloud", "after a run"),
    "no JSON": (text("plan"), "is no plan of a site: Expecting value", "name a plan.json"),
    "no text": (no_text, "is no plan of a site: 'utf-8'", "name a plan.json"),
    "a list": (text("[]"), "is no plan of a site", "name a plan.json"),
    "another document": (text('{"site": "lab"}'), "is no plan of a site", "name a plan.json"),
    "hosts as a list": (lambda home: written(home, hosts=[]), "is no plan of a site", "name a plan.json"),
    "another site": (
        lambda home: written(home, site="other"), "the plan is of site other in lab.test", "name a plan of this site",
    ),
    "another domain": (
        lambda home: written(home, domain="other.test"), "site file of lab in lab.test", "name a plan of this site",
    ),
    "the state of a newer version": (newer, "has format 9999", "install the version that wrote it"),
    "a version that does not start": (failing, "makes no plan of this site file", "plan_output=DIR"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_no_plan_of_this_site_is_refused_and_the_run_ends_as_unknown(tmp_path: Path, case: str) -> None:
    given, what, remedy = REFUSED[case]
    path = given(tmp_path)
    with pytest.raises(GroundupError) as caught:
        former_plan.read(path, make_plan(load_site(LAB)), LAB)
    assert what in caught.value.what
    assert caught.value.where.startswith(str(path))
    assert remedy in caught.value.remedy
    result, printed = compare(path)
    assert (result.get("unreachable"), result.get("failed"), printed) == (True, None, "")
    assert what in result["msg"]


@pytest.mark.parametrize(
    ("stdout", "stderr", "said"),
    [
        ("", "[WARNING]: a\n[ERROR]: it lacks\npydantic\n", "it lacks pydantic"),
        ("PLAY [Plan]\nfatal: [localhost]: FAILED! => no\n", "[ERROR]: another\n", "[localhost]: FAILED! => no"),
        ("PLAY [Plan]\nfailed: [localhost] => no", "", "[localhost] => no"),
        ("usage: playbook", "", "usage: playbook"),
        ("", "", "it ended with 9"),
    ],
)
def test_a_version_that_makes_no_plan_is_told_in_its_own_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stdout: str, stderr: str, said: str
) -> None:
    monkeypatch.setattr(Processes, "run", lambda *_, **__: Finished(code=9, stdout=stdout, stderr=stderr))
    result, _ = compare(failing(tmp_path))
    assert f"makes no plan of this site file: {said}" in result["msg"]


def test_the_same_plan_is_no_difference(tmp_path: Path) -> None:
    action, _ = compare(_own(tmp_path))
    assert (action.get("failed"), action["comparison"]["state"]) == (None, "same")


def _own(home: Path) -> Path:
    """Write this version's own plan, chart values and files included, as a run does."""
    action: Any = ActionModule.__new__(ActionModule)
    action.variables, action.changes = {}, Changes(check=False)
    action._task = type("Task", (), {"check_mode": False})()
    action._display = type("Display", (), {"display": lambda *_: None})()
    defaults = {name: one.get("default") for name, one in documented("plan").items()}
    action.work({**defaults, "site_file": str(LAB), "output": str(home / "own")})
    return home / "own"


def test_what_differs_fails_and_is_a_document_for_programs(tmp_path: Path, state: Path) -> None:
    own = _own(tmp_path)
    site = tmp_path / "site.yml"
    site.write_text(LAB.read_text().replace("worker: {count: 2", "worker: {count: 3"))
    result, printed = compare(own, report="json", site=site)
    assert result["failed"]
    found = json.loads(printed)
    assert found == result["comparison"]
    rows = {(row["layer"], row["kind"], row["what"], row["host"], row["change"]) for row in found["rows"]}
    assert ("metal", "host", "hosts", "worker-3", "new") in rows
    assert ("plan", "file", "dns.zone", "", "changed") in rows
    assert found["counts"]["metal"] == {"host": 1}
    alone, _ = compare(own / "plan.json", site=site)
    assert {row["kind"] for row in alone["comparison"]["rows"]} == {row["kind"] for row in found["rows"]} - {"file"}
    assert not state.exists(), "nothing is written"


def test_a_plan_with_errors_fails_though_nothing_else_differs(tmp_path: Path) -> None:
    site = tmp_path / "site.yml"
    site.write_text(LAB.read_text() + "edge: {address: 10.90.0.1}\n")
    result, _ = compare(_own(tmp_path), site=site)
    assert result["failed"]
    assert "nothing is built from this plan: 1 error" in result["msg"]
