"""The table shows what is not well, each with its remedy; the document has all of it."""

from __future__ import annotations

import json

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.status.rows import (
    PARTS,
    StatusRow,
    document,
    folded,
    guarded,
    table,
    verdict,
    worst,
)

WELL = [StatusRow(name=f"worker-{number}", state="ok", what="v1.36.3") for number in range(20)]
DOWN = StatusRow(name="worker-20", state="broken", what="not Ready", remedy="look at it")


def test_bad_rows_come_first_and_of_many_good_ones_a_number_remains() -> None:
    shown = folded([*WELL, DOWN])
    assert [row.name for row in shown] == ["worker-20", *(f"worker-{number}" for number in range(8)), "12 more"]
    assert len(folded(WELL[:9])) == 9, "one more than shown needs no line of its own"


def test_bad_rows_that_say_the_same_are_one() -> None:
    rows = [StatusRow(name=f"node-{number}", state="not made", what="not made yet") for number in range(5)]
    assert [(row.name, row.state) for row in folded([*rows, DOWN])] == [
        ("worker-20", "broken"),
        ("node-0, node-1, node-2 and 2 more", "not made"),
    ]


def test_the_table_has_a_part_once_and_each_remedy_below() -> None:
    lines = table("lab", {"nodes": [*WELL[:2], DOWN], "ceph": []}).splitlines()
    assert [line.split()[0] for line in lines[:2]] == ["part", "nodes"]
    assert lines[1].split() == ["nodes", "worker-20", "broken", "not", "Ready"]
    assert lines[2].strip() == "remedy: look at it"
    assert lines[3].startswith(" ")
    assert lines[-1] == "lab: 1 broken, 2 ok"
    assert table("lab", {"nodes": WELL}).splitlines()[-1] == "lab: all is well"


@pytest.mark.parametrize(
    ("states", "found"),
    [
        ([], "ok"),
        (["ok", "warning"], "warning"),
        (["warning", "unknown"], "unknown"),
        (["unknown", "not made"], "not made"),
        (["broken", "unknown", "not made"], "broken"),
    ],
)
def test_the_worst_state_counts(states: list[str], found: str) -> None:
    rows = [StatusRow(name="one", state=state, what="") for state in states]  # type: ignore[arg-type]
    assert worst({"hosts": rows}) == found


def test_the_verdict_names_the_parts() -> None:
    unknown = StatusRow(name="worker-1", state="unknown", what="")
    assert verdict("lab", {"nodes": [DOWN], "hosts": [unknown]}) == "lab is not well; broken: nodes; unknown: hosts"
    assert verdict("lab", {"nodes": WELL}) == "lab is well"


def test_the_document_has_every_part_and_every_row() -> None:
    found = json.loads(json.dumps(document("lab", "2026-11-28T01:00:00+00:00", {"nodes": [*WELL, DOWN]})))
    assert list(found["parts"]) == list(PARTS)
    assert found["parts"]["ceph"] == []
    assert len(found["parts"]["nodes"]) == 21
    assert (found["state"], found["counts"]) == ("broken", {"ok": 20, "broken": 1})
    assert found["parts"]["nodes"][-1] == {
        "name": "worker-20", "state": "broken", "what": "not Ready", "remedy": "look at it", "facts": {},
    }  # fmt: skip


@pytest.mark.parametrize(
    "error", [GroundupError("no answer", where="the API", why="w", remedy="wait"), KeyError("items"), RuntimeError()]
)
def test_a_part_that_fails_is_a_row(error: Exception) -> None:
    def ask() -> list[StatusRow]:
        raise error

    (row,) = guarded("nodes", ask)
    assert row.state == "unknown"
    if isinstance(error, GroundupError):
        assert (row.what, row.remedy) == ("no answer (the API)", "wait")


def test_text_of_others_is_one_printable_line() -> None:
    row = StatusRow(name="a", state="ok", what="one\n  two\x1b[31m")
    assert row.what == "one two\\x1b[31m"
