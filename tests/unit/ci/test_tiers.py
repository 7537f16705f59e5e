"""What a tier runs, in which order, and what of it the report at the end repeats."""

from __future__ import annotations

import json
import re
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest
from ansible_collections.groundup.cloud.ci import tier as runner
from ansible_collections.groundup.cloud.ci import tiers
from ansible_collections.groundup.cloud.ci.tier import Tier, report, run_tier, run_tiers
from ansible_collections.groundup.cloud.plugins.plugin_utils.progress import reminder

# Each of two ends only when the other one has begun.
MEET = 'touch "$0/$1"; for _ in $(seq 1200); do [ -e "$0/$2" ] && echo "met $2" && exit; sleep 0.1; done; exit 1'
PASSES = ("sh", "-c", "echo '3 passed in 0.1s'")
FAILS = ("sh", "-c", "echo '1 failed, 2 passed in 0.1s'; exit 3")


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache without times of earlier runs."""
    monkeypatch.setenv("GROUNDUP_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_after_a_command_that_failed_none_begins_but_the_one_that_puts_the_machine_back(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    last, always = tmp_path / "last", tmp_path / "always"
    outcome = run_tier(
        Tier(name="t", commands=(PASSES, FAILS, ("touch", str(last))), always=("touch", str(always))),
    )
    assert outcome.verdict == "FAILED"
    assert outcome.notes == (
        "3 passed in 0.1s",
        "1 failed, 2 passed in 0.1s",
        f"exit 3: {' '.join(FAILS)}",
        f"not run: touch {last}",
    )
    assert not last.exists()
    assert always.exists()
    assert "\n3 passed in 0.1s\n" in capfd.readouterr().out


def test_a_tier_that_takes_longer_than_it_looked_leaves_its_last_commands_out_and_puts_the_machine_back(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of 1,000 s the first command takes 600: the second, of 200, would end before the machine was put back."""
    now, last, always = [50.0], ("touch", str(tmp_path / "last")), ("touch", str(tmp_path / "always"))
    cache.mkdir()
    (cache / "tiers.json").write_text(json.dumps({" ".join(last): 200.0}))

    def run(command: tuple[str, ...], **_: object) -> runner.Ended:
        ran.append(command)
        now[0] += 600
        return runner.Ended(notes=())

    ran: list[tuple[str, ...]] = []
    monkeypatch.setattr(runner, "run", run)
    monkeypatch.setattr(runner, "time", SimpleNamespace(monotonic=lambda: now[0]))
    outcome = run_tier(Tier(name="t", commands=(PASSES, last, PASSES), always=always), until=1050.0)
    assert ran == [PASSES, always]
    assert outcome.verdict == "skipped", "it is in the list of what was not seen"
    assert outcome.notes == (f"no time for: {' '.join(last)}", f"no time for: {' '.join(PASSES)}")
    del ran[:]
    assert run_tier(Tier(name="t", commands=(PASSES, last), always=always), until=None).verdict == "passed"
    assert ran == [PASSES, last, always]


def test_a_program_that_cannot_begin_fails_its_tier_and_the_report_is_still_told(tmp_path: Path) -> None:
    none = (str(tmp_path / "none"),)
    outcome = run_tier(Tier(name="t", commands=(none, PASSES), always=none))
    assert outcome.verdict == "FAILED"
    assert ["No such file or directory" in line for line in outcome.failures] == [True, True]
    assert outcome.notes[1].startswith("not run: ")


def test_each_pytest_has_its_place_and_its_time_is_known_in_another_clone(
    tmp_path: Path, cache: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    (scratch / "of a killed run").touch()
    look = ("sh", "-c", 'ls "$(dirname "${2#--basetemp=}")"; echo "$2"', "sh", "pytest")
    run_tier(Tier(name="t", commands=(look, (*look[:3], "echo", "pytest"), PASSES)), scratch=scratch)
    said = capfd.readouterr().out
    assert f"\n--basetemp={scratch}/0\n" in said
    assert f"\n--basetemp={scratch}/1\n" in said
    assert "killed" not in said
    assert " ".join(look) in json.loads((cache / "tiers.json").read_text())


def test_what_a_killed_test_has_mounted_does_not_stop_the_next_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mounted").mkdir()
    monkeypatch.setattr("shutil.rmtree", lambda *_, **__: None)
    assert run_tier(Tier(name="t", commands=(PASSES,)), scratch=tmp_path).verdict == "passed"


@pytest.mark.parametrize("passes", [True, False])
def test_what_tests_left_is_kept_where_one_failed(tmp_path: Path, passes: bool) -> None:
    (tmp_path / "scratch").mkdir()
    run_tier(Tier(name="t", commands=(PASSES if passes else FAILS,)), scratch=tmp_path / "scratch")
    assert (tmp_path / "scratch").exists() is not passes


def test_no_tier_begins_on_a_disk_without_room(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(tiers, "LEAST_GIB", 2**40)
    monkeypatch.setattr("sys.argv", ["ci/tiers.py"])
    monkeypatch.setattr(runner, "run_tier", lambda tier, **_: pytest.fail(f"{tier.name} began"))
    assert tiers.main() == 2
    assert "free some" in capsys.readouterr().out


def test_the_end_of_the_report_says_why_a_tier_failed_by_its_tests_or_else_its_last_lines(
    capsys: pytest.CaptureFixture[str],
) -> None:
    named = "echo '1 failed in 0.1s'; echo 'FAILED tests/unit/test_a.py::test_b - assert 1 == 2'; echo end; exit 1"
    silent = "for line in $(seq 20); do echo line-$line; done; exit 2"
    report(
        [
            run_tier(Tier(name="one", commands=(("sh", "-c", named),))),
            run_tier(Tier(name="two", commands=(PASSES,), always=("sh", "-c", silent))),
        ]
    )
    end = capsys.readouterr().out.partition("=== summary ===")[2].splitlines()[1:]
    assert [line.split()[:2] for line in end[:2]] == [["one", "FAILED"], ["two", "FAILED"]]
    assert end[2:] == [
        f"one: exit 1: sh -c {named}",
        "one: FAILED tests/unit/test_a.py::test_b - assert 1 == 2",
        f"two: exit 2: sh -c {silent}",
        *(f"two: line-{number}" for number in range(13, 21)),
    ]


def test_commands_at_once_run_beside_each_other_and_each_line_says_whose_it_is(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    names = (("left", "right"), ("right", "left"))
    commands = tuple(("sh", "-c", MEET, str(tmp_path), own, other, own) for own, other in names)
    outcome = run_tier(Tier(name="t", commands=commands, at_once=2))
    assert outcome.verdict == "passed"
    said = capfd.readouterr().out
    assert "left: met right\n" in said
    assert "right: met left\n" in said


def test_a_tier_begins_with_the_one_that_it_names_where_that_comes_before_it(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    left = Tier(name="left", commands=(("sh", "-c", MEET, str(tmp_path), "one", "two"),))
    right = Tier(name="right", commands=(("sh", "-c", MEET, str(tmp_path), "two", "one"),), beside="left")
    outcomes = run_tiers([left, right], scratch=tmp_path / "scratch", minutes={}, limit=None)
    assert [(one.name, one.verdict) for one in outcomes] == [("left", "passed"), ("right", "passed")]
    said = capfd.readouterr().out
    assert "left: met two\n" in said
    assert "right: met one\n" in said


def test_a_tier_begins_alone_where_another_one_comes_before_it(tmp_path: Path) -> None:
    made = tmp_path / "made"
    first = Tier(name="first", commands=(("sh", "-c", 'sleep 0.5; touch "$0"', str(made)),))
    later = Tier(name="later", commands=(("test", "-e", str(made)),), beside="another")
    outcomes = run_tiers([first, later], scratch=tmp_path / "scratch", minutes={}, limit=None)
    assert [one.verdict for one in outcomes] == ["passed", "passed"]


def test_on_a_slow_machine_tiers_and_their_commands_run_one_after_another(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    made, last = tmp_path / "made", tmp_path / "last"
    first = Tier(name="first", commands=(("sleep", "0.5"),))
    left = Tier(
        name="left",
        commands=(("sh", "-c", 'sleep 0.5; touch "$0"', str(made)), ("mv", str(made), str(last))),
        at_once=2,
    )
    right = Tier(name="right", commands=(("test", "-e", str(last)),), beside="left")
    minutes = {"first": 0.001, "left": 0.0, "right": 0.0}
    outcomes = run_tiers([first, left, right], scratch=tmp_path / "scratch", minutes=minutes, limit=None)
    assert [one.verdict for one in outcomes] == ["passed", "passed", "passed"]
    assert "times slower than usual, one after another: left, right\n" in capfd.readouterr().out


def test_what_a_later_tier_needs_is_made_beside_the_first_one_that_waits(tmp_path: Path) -> None:
    # The tier that waits ends only when the later one's has begun; what none waits for begins with nobody.
    made, never = tmp_path / "made", tmp_path / "never"
    await_it = ("sh", "-c", 'for _ in $(seq 1200); do [ -e "$0" ] && exit; sleep 0.1; done; exit 1', str(made))
    make = ("sh", "-c", 'nice > "$0"', str(made))
    chosen = [
        Tier(name="first", commands=(("test", "!", "-e", str(made)),), ahead=("touch", str(never))),
        Tier(name="waits", commands=(await_it,)),
        Tier(name="later", commands=(PASSES,), ahead=make),
        Tier(name="not here", commands=(PASSES,), ahead=("touch", str(never)), needs=lambda: "no root"),
    ]
    outcomes = run_tiers(chosen, scratch=tmp_path / "scratch", minutes={}, limit=None, waits="waits")
    assert [one.verdict for one in outcomes] == ["passed", "passed", "passed", "skipped"]
    assert made.read_text() == "19\n"
    assert not never.exists()


def test_without_a_tier_that_waits_nothing_is_made_ahead(tmp_path: Path) -> None:
    never = tmp_path / "never"
    run_tiers(
        [Tier(name="a", commands=(PASSES,)), Tier(name="b", commands=(PASSES,), ahead=("touch", str(never)))],
        scratch=tmp_path / "scratch", minutes={}, limit=None, waits="waits",
    )  # fmt: skip
    assert not never.exists()


def test_a_background_tier_begins_when_one_of_two_tiers_has_ended(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    meet, ended = ("sh", "-c", MEET, str(tmp_path)), tmp_path / "ended"
    chosen = [
        Tier(
            name="computes",
            commands=(("test", "-e", str(ended)), (*meet, "one", "two"), ("sh", "-c", "nice; exit 3")),
            background=True,
        ),
        Tier(name="first", commands=(("sh", "-c", 'sleep 0.5; touch "$0"', str(ended)),)),
        Tier(name="second", commands=((*meet, "two", "one"),), beside="first"),
    ]
    outcomes = run_tiers(chosen, scratch=tmp_path / "scratch", minutes={}, limit=None)
    told = [(one.name, one.verdict) for one in outcomes]
    assert told == [("computes", "FAILED"), ("first", "passed"), ("second", "passed")]
    assert outcomes[0].failures[0] == "exit 3: nice -n 19 sh -c nice; exit 3"
    assert "\ncomputes: 19\n" in capfd.readouterr().out


@pytest.mark.parametrize(("names", "limit"), [(("computes", "first"), None), (("computes", "first", "long"), 5.0)])
def test_a_background_tier_runs_last_where_none_are_beside_each_other_or_have_no_time(
    tmp_path: Path, names: tuple[str, ...], limit: float | None
) -> None:
    made = tmp_path / "made"
    computes = Tier(name="computes", commands=(("test", "-e", str(made)),), background=True)
    first = Tier(name="first", commands=(("touch", str(made)),))
    long = Tier(name="long", commands=(PASSES,))
    chosen = [tier for tier in (computes, first, long) if tier.name in names]
    outcomes = run_tiers(chosen, scratch=tmp_path / "scratch", minutes={"long": 10.0}, limit=limit)
    assert [one.verdict for one in outcomes] == ["passed", "passed", "skipped"][: len(names)]


def test_a_tier_that_cannot_run_is_skipped_with_its_reason(tmp_path: Path) -> None:
    never = tmp_path / "never"
    outcome = run_tier(Tier(name="t", commands=(("touch", str(never)),), needs=lambda: "no such machine"))
    assert (outcome.verdict, outcome.notes) == ("skipped", ("no such machine",))
    assert not never.exists()


def test_a_command_that_says_nothing_is_named_with_its_time_and_with_that_of_the_last_run_that_passed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(runner, "reminder", partial(reminder, seconds=0.05))
    sleeps = Tier(name="t", commands=(("sleep", "2"),))
    run_tier(sleeps)
    assert re.search(r"\nsleep 2: 00:\d\d so far\n", capsys.readouterr().out)
    run_tier(sleeps)
    assert re.search(r"\nsleep 2 \(00:\d\d last time\): 00:\d\d so far\n", capsys.readouterr().out)


def test_a_reminder_names_a_long_command_by_its_beginning_and_end(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(runner, "reminder", partial(reminder, seconds=0.05))
    run_tier(Tier(name="t", commands=(("sh", "-c", "sleep 1", *(f"tests/e2e/test_{n}.py" for n in range(30))),)))
    shown = [line for line in capsys.readouterr().out.splitlines() if line.endswith("so far")]
    assert shown
    assert all(line.startswith("sh -c sleep 1 tests/e2") and "test_29.py: " in line for line in shown)
    assert max(map(len, shown)) < 100


def test_times_of_runs_that_failed_are_not_kept_and_a_damaged_record_is_passed_over(cache: Path) -> None:
    cache.mkdir()
    (cache / "tiers.json").write_text("{")
    run_tier(Tier(name="t", commands=(PASSES, FAILS)))
    assert list(runner._times()) == [" ".join(PASSES)]
