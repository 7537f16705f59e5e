"""The table of machines: where each is, for how long, how long it takes here, and what holds a failed one."""

from __future__ import annotations

import json
from os import terminal_size
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.follow import View, follow
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.overview import (
    Overview,
    Row,
    as_json,
    one_line,
    summary,
    table,
)
from ansible_collections.groundup.cloud.plugins.plugin_utils.paths import COLLECTION
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan, load_site, make_plan

CARD = {"what": "it has no disk that fits", "why": "there is nothing to write to", "remedy": "see its disks"}
RAMDISK = ("provisioning", "its ramdisk boots")
Step = tuple[float, str, str]


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    text = (COLLECTION / "inventories/lab-metal/site.yml").read_text()
    text = text.replace("count: 1\n    rack: r1\n    bmc", "count: 3\n    rack: r1\n    bmc")
    path = tmp_path_factory.mktemp("site") / "site.yml"
    path.write_text(text)
    return make_plan(load_site(path))


def journal(home: Path, name: str, *steps: Step, card: dict[str, str] | None = None) -> None:
    lines: list[dict[str, Any]] = [
        {"time": time, "state": state, "doing": doing, "card": None} for time, state, doing in steps
    ]
    lines[-1]["card"] = card
    (home / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


def rows(plan: Plan, home: Path) -> dict[str, Row]:
    return {row.machine: row for row in Overview(plan, home).rows()}


def test_every_machine_has_a_row_and_only_those_the_seed_installs_have_a_state(plan: Plan, tmp_path: Path) -> None:
    found = rows(plan, tmp_path)
    assert list(found) == list(plan.hosts)
    assert (found["seed-1"].state, found["seed-1"].provisioner) == (None, "container")
    assert (found["worker-1"].state, found["worker-1"].since) == ("expected", None)
    assert not any(row.moving for row in found.values())


def test_what_a_phase_takes_is_what_it_took_here_where_it_ended_well(plan: Plan, tmp_path: Path) -> None:
    journal(tmp_path, "worker-1", (0, *RAMDISK), (90, "installed", "it called home"))
    journal(tmp_path, "worker-2", (0, *RAMDISK), (1, "failed", ""), card=CARD)
    journal(tmp_path, "worker-3", (100, *RAMDISK))
    found = rows(plan, tmp_path)
    assert found["worker-3"].expected == 90
    assert found["worker-3"].elapsed(130) == 30
    assert found["worker-3"].moving
    assert [found[name].moving for name in ("worker-1", "worker-2")] == [False, False]
    assert found["worker-1"].expected is None, "nobody waits for the end of that"


def test_another_attempt_takes_as_long_whatever_the_last_one_said(plan: Plan, tmp_path: Path) -> None:
    again = "attempt 2 of 3"
    journal(tmp_path, "worker-1", (0, "provisioning", f"{again}: timeout"), (40, "installed", ""))
    journal(tmp_path, "worker-2", (0, "provisioning", f"{again}: no power"))
    assert rows(plan, tmp_path)["worker-2"].expected == 40


def test_a_machine_that_waits_for_somebody_does_not_move(plan: Plan, tmp_path: Path) -> None:
    journal(tmp_path, "worker-1", (0, "matched", ""), card={**CARD, "what": "nobody has approved it"})
    assert not rows(plan, tmp_path)["worker-1"].moving


def test_a_failed_machine_has_its_card_and_remedy_below_it(plan: Plan, tmp_path: Path) -> None:
    journal(tmp_path, "worker-2", (0, "failed", ""), card=CARD)
    text = table(rows(plan, tmp_path).values(), 65).splitlines()
    at = next(number for number, line in enumerate(text) if line.startswith("worker-2"))
    assert text[at].split()[2:5] == ["failed", "01:05", "-"]
    assert CARD["what"] in text[at]
    assert text[at + 2].strip() == f"remedy: {CARD['remedy']}"


def test_what_a_machine_says_moves_no_cursor(plan: Plan, tmp_path: Path) -> None:
    hostile = "\x1b[2Jgone\nworker-9 serving \u202e"
    journal(tmp_path, "worker-1", (0, "provisioning", hostile))
    journal(tmp_path, "worker-2", (0, "failed", ""), card={**CARD, "what": hostile})
    found = Overview(plan, tmp_path).rows()
    for text in (table(found, 1), as_json("lab", found, 1), *map(one_line, found)):
        assert not {"\x1b", "\u202e"} & set(text)
    assert not any(line.startswith("worker-9") for line in table(found, 1).splitlines())


def test_a_machine_that_is_not_in_the_site_file_is_shown_until_it_is_retired(plan: Plan, tmp_path: Path) -> None:
    journal(tmp_path, "unknown-1", (0, "quarantined", "it fits no role"))
    journal(tmp_path, "gone-1", (0, "retired", ""))
    (tmp_path / "discovered").mkdir()
    journal(tmp_path / "discovered", "52-54-00-4d-00-09", (0, "discovered", "4 cores, 8 GiB"))
    journal(tmp_path / "discovered", "52-54-00-4d-00-01", (0, "approved", "it became worker-1"))
    found = rows(plan, tmp_path)
    assert (found["unknown-1"].rack, found["unknown-1"].moving) == ("", False)
    assert list(found)[-2:] == ["unknown-1", "52-54-00-4d-00-09"]
    assert not found["52-54-00-4d-00-09"].moving, "nobody waits for it"


def test_a_line_that_a_killed_run_broke_off_hides_nothing(plan: Plan, tmp_path: Path) -> None:
    journal(tmp_path, "worker-1", (0, *RAMDISK))
    path = tmp_path / "worker-1.jsonl"
    path.write_text(path.read_text() + '{"time": 3, "sta')
    assert rows(plan, tmp_path)["worker-1"].state == "provisioning"


def test_json_says_what_the_table_says(plan: Plan, tmp_path: Path) -> None:
    journal(tmp_path, "worker-1", (100, *RAMDISK))
    text = as_json("lab", Overview(plan, tmp_path).rows(), 130)
    found = json.loads(text)
    one = next(machine for machine in found["machines"] if machine["machine"] == "worker-1")
    assert (found["site"], one["elapsed"], one["moving"]) == ("lab", 30, True)
    assert (text.splitlines()[0], text.splitlines()[-1]) == ("{", "}")


def test_a_small_terminal_shows_machines_that_move_first_and_those_that_failed(plan: Plan, tmp_path: Path) -> None:
    journal(tmp_path, "worker-3", (0, *RAMDISK))
    journal(tmp_path, "worker-2", (0, "failed", ""), card=CARD)
    text = table(Overview(plan, tmp_path).rows(), 1, lines=6).splitlines()
    assert [line.split()[0] for line in text if not line.startswith(" ")] == [
        "machine",
        "worker-3",
        "worker-2",
        "seed-1",
    ]
    assert len(text) == 6


def watched(
    plan: Plan, home: Path, *, terminal: terminal_size | None, ways: list[list[Step]], timeout: float = 60
) -> tuple[list[str], bool]:
    """Follow worker-1, which goes on at each look; return what was written, and whether it came to an end."""
    written: list[str] = []
    left = list(ways)

    def go_on(_seconds: float) -> None:
        if left:
            journal(home, "worker-1", *left.pop(0))

    view = View(say=written.append, draw=written.append, terminal=terminal)
    rows, ended = follow(Overview(plan, home), view, timeout=timeout, sleep=go_on)
    assert len(rows) == len(plan.hosts)
    return written, ended


WAY: list[Step] = [(0, *RAMDISK), (5, "provisioning", "first boot"), (9, "installed", "it called home")]


def test_without_a_terminal_each_change_is_one_line(plan: Plan, tmp_path: Path) -> None:
    journal(tmp_path, "worker-1", WAY[0])
    written, ended = watched(plan, tmp_path, terminal=None, ways=[WAY[:2], WAY])
    assert ended
    assert [line for line in written if line.startswith("worker-1")] == [
        "worker-1: provisioning, its ramdisk boots",
        "worker-1: provisioning, first boot",
        "worker-1: installed, it called home",
    ]
    assert len(written) == len(plan.hosts) + 2


def test_on_a_terminal_the_table_is_drawn_over_the_one_before(plan: Plan, tmp_path: Path) -> None:
    journal(tmp_path, "worker-1", WAY[0])
    written, _ = watched(plan, tmp_path, terminal=terminal_size((60, 24)), ways=[WAY])
    assert all("\x1b" not in line for line in written[0].splitlines())
    assert written[1].startswith(f"\x1b[{len(written[0].splitlines())}A\x1b[J")
    assert max(map(len, written[0].splitlines())) < 60


def test_following_ends_at_once_where_nothing_moves(plan: Plan, tmp_path: Path) -> None:
    written, ended = watched(plan, tmp_path, terminal=None, ways=[])
    assert ended
    assert len(written) == len(plan.hosts)


def test_following_ends_when_nothing_has_changed_for_long(plan: Plan, tmp_path: Path) -> None:
    journal(tmp_path, "worker-1", WAY[0])
    written, ended = watched(plan, tmp_path, terminal=None, ways=[], timeout=0)
    assert not ended
    assert len(written) == len(plan.hosts)


def test_the_summary_counts_states_and_provisioners(plan: Plan, tmp_path: Path) -> None:
    journal(tmp_path, "worker-1", *WAY)
    assert "1 installed" in summary(Overview(plan, tmp_path).rows())
