"""A set on disk is whole or absent, of one site, and says which part is damaged."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.backup.sets import disk
from ansible_collections.groundup.cloud.plugins.plugin_utils.backup.sets.disk import (
    SetBackup,
    SetShelf,
    write_tested,
)
from ansible_collections.groundup.cloud.plugins.plugin_utils.backup.sets.write import writing
from ansible_collections.groundup.cloud.plugins.plugin_utils.backup.shelf import STAMP
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.vault import open_store

NOW = datetime(2026, 11, 28, 2, 0, tzinfo=UTC)
Make = Callable[..., SetBackup]
# A run that is killed: it says when it is in the middle of its second part.
_KILLED = """
import sys, time
from ansible_collections.groundup.cloud.plugins.plugin_utils.backup.sets.write import writing
from ansible_collections.groundup.cloud.plugins.plugin_utils.backup.sets.job import site_shelf
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import load_site, make_plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.vault import open_store
plan = make_plan(load_site(sys.argv[1]))
def half(write):
    write(bytes(5_000_000))
    print("half", flush=True)
    time.sleep(600)
with writing(site_shelf(plan), site=plan.site, store=open_store(plan.site, write=False)) as writer:
    writer.part("state", lambda write: write(b"word") and {} or {}, source="a test")
    writer.part("etcd", half, source="a test")
"""


def test_a_set_says_what_it_is_and_opens(plan: Plan, shelf: SetShelf, made: Make) -> None:
    made(NOW)
    backup, place = shelf.find("newest")
    said = json.loads((place / "set.json").read_text())
    assert (backup.name, backup.site, said["versions"]) == ("20261128T020000Z", plan.site, {"etcd": "3.6.8"})
    assert backup.store == open_store(plan.site).identity
    shelf.check(backup, place)
    opened = shelf.content(backup, place, "etcd", store=open_store(plan.site))
    assert b"".join(opened) == b"etcd"
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (place, *place.iterdir())}
    assert modes.pop(place.name) == 0o700
    assert set(modes.values()) == {0o600}
    assert all(b"etcd" not in path.read_bytes() for path in place.glob("*.sealed")), "sealed"


def test_a_killed_run_leaves_no_set_and_the_next_removes_its_remains(shelf: SetShelf, made: Make) -> None:
    site = Path(__file__).resolve().parents[3] / "inventories/lab/site.yml"
    with subprocess.Popen([sys.executable, "-c", _KILLED, str(site)], stdout=subprocess.PIPE) as process:
        assert process.stdout
        assert process.stdout.readline() == b"half\n"
        with pytest.raises(GroundupError, match="another backup of this site runs"):
            made(NOW)
        process.send_signal(signal.SIGKILL)
    assert shelf.names() == []
    assert len(shelf.remains()) == 1
    with pytest.raises(GroundupError, match="no backup set yet"):
        shelf.find("newest")
    made(NOW)
    assert [path.name for path in shelf.home.iterdir()] == ["20261128T020000Z"]


def test_a_part_that_fails_leaves_nothing(plan: Plan, shelf: SetShelf) -> None:
    def fails(write: Callable[[bytes], object]) -> dict[str, int]:
        write(b"half")
        raise OSError("lost")

    with (
        pytest.raises(OSError, match="lost"),
        writing(shelf, site=plan.site, store=open_store(plan.site), now=NOW) as writer,
    ):
        writer.part("etcd", fails, source="a test")
    assert [*shelf.home.iterdir()] == []


@pytest.mark.parametrize("part", ["kubernetes-keys", "etcd"])
def test_a_flipped_byte_names_the_part(plan: Plan, shelf: SetShelf, made: Make, part: str) -> None:
    made(NOW)
    backup, place = shelf.find("newest")
    file = place / f"{part}.sealed"
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)
    with pytest.raises(GroundupError, match=f"backup-damaged.: part {part} has another SHA-256"):
        shelf.check(backup, place)
    with pytest.raises(GroundupError, match=f"backup-damaged.: part {part}: "):
        [*shelf.content(backup, place, part, store=open_store(plan.site))]
    file.unlink()
    for look in (lambda: shelf.check(backup, place),
                 lambda: [*shelf.content(backup, place, part, store=open_store(plan.site))]):  # fmt: skip
        with pytest.raises(GroundupError, match=f"part {part} is missing"):
            look()


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"parts": 5}', None])
def test_a_damaged_description_is_a_damaged_set(shelf: SetShelf, made: Make, text: str | None) -> None:
    made(NOW)
    about = shelf.home / "20261128T020000Z/set.json"
    about.unlink() if text is None else about.write_text(text)
    with pytest.raises(GroundupError, match="backup-damaged"):
        shelf.find("newest")


def test_a_part_of_another_set_in_its_place_does_not_open(plan: Plan, shelf: SetShelf, made: Make) -> None:
    made(NOW)
    made(NOW + timedelta(days=1))
    old, new = (shelf.find(name) for name in reversed(shelf.names()))
    (old[1] / "etcd.sealed").replace(new[1] / "etcd.sealed")
    with pytest.raises(GroundupError, match="part etcd: piece 0 does not open"):
        [*shelf.content(*new, "etcd", store=open_store(plan.site))]


def test_a_set_of_another_site_is_refused_by_name(plan: Plan, shelf: SetShelf, made: Make) -> None:
    made(NOW, site="elsewhere")
    backup, place = shelf.find(str(shelf.home / "20261128T020000Z"))
    with pytest.raises(GroundupError, match=r"of the site elsewhere \(backup-of-another-site\)"):
        shelf.refuse_other(backup, site=plan.site, place=place)


def left_by(shelf: SetShelf) -> str:
    """Return the ending of what this controller leaves unfinished."""
    return disk.writer_of(shelf.home)


def test_two_controllers_leave_each_others_unfinished_sets_alone_until_nobody_wrote_for_a_day(
    shelf: SetShelf, made: Make
) -> None:
    others, own = (shelf.home / f".partial-20261127T020000Z{end}" for end in ("-another", left_by(shelf)))
    for place in (others, own):
        place.mkdir(parents=True)
        (place / "etcd.sealed").write_bytes(b"half")
    made(NOW)
    assert (others.exists(), own.exists()) == (True, False)
    day = NOW.timestamp() - 90_000
    os.utime(others, (day, day))
    made(NOW + timedelta(days=1))
    assert others.exists(), "its part is still written to"
    os.utime(others / "etcd.sealed", (day, day))
    os.utime(others, (day, day))
    made(NOW + timedelta(days=2))
    assert not others.exists()


def test_sets_are_removed_by_count_and_by_age_and_never_the_newest_or_the_newest_tested() -> None:
    names = [(NOW - timedelta(days=day)).strftime(STAMP) for day in range(6)]
    gone = partial(disk.surplus, names, now=NOW)
    assert gone(keep=0, days=0, proven=None) == []
    assert gone(keep=4, days=0, proven=None) == names[4:]
    assert gone(keep=14, days=2.5, proven=None) == names[3:]
    assert gone(keep=2, days=2.5, proven=names[4]) == [names[2], names[3], names[5]]
    later = NOW + timedelta(days=90)
    assert disk.surplus(names, keep=0, days=30, proven=None, now=later) == []
    assert disk.surplus(names, keep=2, days=30, proven=None, now=later) == names[2:]
    assert disk.surplus([], keep=1, days=1, proven=None) == []


@pytest.mark.parametrize("runs", [1, 3])
def test_a_clock_that_was_ahead_makes_no_good_set_old(runs: int) -> None:
    good = [(NOW - timedelta(days=day)).strftime(STAMP) for day in range(40)]
    ahead = NOW + timedelta(days=1000)
    late = [(ahead - timedelta(days=day)).strftime(STAMP) for day in range(runs)]
    assert disk.surplus([*late, *good], keep=0, days=30, proven=late[0], now=ahead) == []
    assert disk.surplus([*late, *good], keep=5, days=30, proven=late[0], now=ahead) == [*late, *good][5:]
    assert disk.surplus(good, keep=0, days=30, proven=None, now=NOW) == good[31:], "then as ever"


def test_the_oldest_are_removed_and_a_removal_that_is_cut_short_goes_on(shelf: SetShelf, made: Make) -> None:
    for day in range(4):
        made(NOW + timedelta(days=day))
    assert shelf.prune(3) == ["20261128T020000Z"]
    assert len(shelf.names()) == 3
    (shelf.home / shelf.names()[-1]).rename(shelf.home / f".removed-20261129T020000Z{left_by(shelf)}")
    assert len(shelf.names()) == 2
    made(NOW + timedelta(days=9))
    assert shelf.remains() == []
    assert shelf.prune(0) == []


def test_the_newest_set_that_is_known_to_restore_outlives_newer_ones_that_are_not(shelf: SetShelf, made: Make) -> None:
    for day in range(5):
        made(NOW + timedelta(days=day))
    oldest_first = shelf.names()[::-1]
    for name, state in zip(oldest_first, ("ok", "ok", "damaged", "not run"), strict=False):
        write_tested(shelf.home / name, {"state": state})
    assert shelf.prune(2) == [oldest_first[2], oldest_first[0]]
    assert shelf.names()[::-1] == [oldest_first[1], *oldest_first[3:]]
