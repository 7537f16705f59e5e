"""The module supply: what a prediction names, and that it makes a damaged artifact again."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.action.supply import ActionModule
from ansible_collections.groundup.cloud.plugins.plugin_utils import supply
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.lock.model import Lock

from .conftest import FakeBuilder


def action(*, check: bool) -> ActionModule:
    """Return the action of a task."""
    made = object.__new__(ActionModule)
    made.variables = {}
    made._task, made._display = SimpleNamespace(check_mode=check), SimpleNamespace(display=lambda _: None)
    return made


@pytest.mark.parametrize(("names", "made"), [(None, ["a", "b"]), (["b"], ["b"])])
def test_a_prediction_names_what_would_be_made_again(
    names: list[str] | None, made: list[str], fake: FakeBuilder, make_lock: Callable[..., Lock],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    lock = make_lock(a={}, b={"needs": ["a"]})
    supply.ensure(None, lock=lock)
    monkeypatch.setattr(supply, "load_lock", lambda _site=None: lock)

    def predicted(*, rebuild: bool) -> dict[str, Any]:
        return action(check=True).work({"step": "build", "names": names, "source": "build", "rebuild": rebuild})

    found = predicted(rebuild=True)
    assert (found["changed"], found["built"]) == (True, made)
    assert found["msg"] == f"would be made: {', '.join(made)}"
    assert not predicted(rebuild=False)["changed"]
    assert fake.names() == ["a", "b"]


@pytest.mark.parametrize("check", [True, False])
def test_a_damaged_artifact_is_made_again_as_predicted(
    check: bool, fake: FakeBuilder, make_lock: Callable[..., Lock], monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = make_lock(a={})
    (supply.ensure(None, lock=lock)["a"].path / "file").write_text("something else")
    monkeypatch.setattr(supply, "load_lock", lambda _site=None: lock)
    found = action(check=check).work({"step": "build", "names": ["a"], "source": "build", "rebuild": False})
    assert (found["changed"], found["built"]) == (True, ["a"])
    assert fake.names() == (["a"] if check else ["a", "a"])


def test_a_prediction_tells_time_size_and_what_is_refused(
    fake: FakeBuilder, make_lock: Callable[..., Lock], monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {"program": {"url": "https://files.test/program", "digest": None}}
    lock = make_lock(a={"cost": 90}, b={"needs": ["a"], "cost": 30}, theirs={"upstream": {"files": files}, "cost": 1})
    supply.ensure(["a"], lock=lock)
    changed = make_lock(
        a={"cost": 90, "inputs": {"text": "other"}}, b={"needs": ["a"], "cost": 30},
        theirs={"upstream": {"files": files}, "cost": 1},
    )  # fmt: skip
    monkeypatch.setattr(supply, "load_lock", lambda _site=None: changed)
    lines = list[str]()
    asked = action(check=True)
    asked._display = SimpleNamespace(display=lines.append)
    found = asked.work({"step": "build", "names": None, "source": "upstream", "rebuild": False})
    rows = {row["artifact"]: row for row in found["predicted"]}
    assert {name: (row["way"], row["refused"]) for name, row in rows.items()} == {
        "a": ("build", ()), "b": ("build", ()), "theirs": ("fetch", ("https://files.test/program",)),
    }  # fmt: skip
    assert (rows["a"]["size"], rows["b"]["size"]) == (1, None)
    assert rows["a"]["seconds"] < 90, "as it took last time"
    assert lines[0].startswith("[supply] 3 artifacts are missing: 2 to build, 1 to fetch, about 00:")
    assert lines[0].endswith("; 1 refused")
    assert lines[2].split()[:3] == ["theirs", "1", "fetch"]
    assert "no digest is recorded for https://files.test/program" in lines[2]
    assert [line.split()[0] for line in lines[3:]] == ["b", "a"]
    assert "supply_resolve=true" in found["warnings"][0]
    assert fake.names() == ["a"]
