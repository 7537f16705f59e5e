"""What monitoring is told of the newest set: when each part of the plan was saved."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

from ansible_collections.groundup.cloud.plugins.plugin_utils.backup.sets.disk import SetBackup, SetShelf
from ansible_collections.groundup.cloud.plugins.plugin_utils.backup.sets.job import site_shelf
from ansible_collections.groundup.cloud.plugins.plugin_utils.backup.sets.take import parts
from ansible_collections.groundup.cloud.plugins.plugin_utils.monitoring.backups import METRIC, ages
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan

Make = Callable[..., SetBackup]


def told(plan: Plan) -> dict[str, int]:
    """Return the time of each part."""
    lines = (line for line in ages(plan).splitlines() if not line.startswith("#"))
    return {name.removeprefix(f'{METRIC}{{part="').removesuffix('"}'): int(at) for name, at in map(str.split, lines)}


def test_each_part_has_the_time_of_the_newest_set_and_a_part_that_it_lacks_the_beginning_of_time(
    plan: Plan, made: Make
) -> None:
    made(datetime.now(UTC) - timedelta(days=1))
    newest = made(datetime.now(UTC), parts=("etcd", "state"))
    saved = {name: int(datetime.fromisoformat(one["taken"]).timestamp()) for name, one in newest.parts.items()}
    assert set(saved) == {"etcd", "state"}
    assert told(plan) == dict.fromkeys(parts(plan), 0) | saved


def test_without_a_set_that_can_be_read_nothing_is_told(plan: Plan, shelf: SetShelf, made: Make) -> None:
    assert ages(plan) == ""
    newest = made(datetime.now(UTC))
    (shelf.home / newest.name / "set.json").write_text("{")
    assert ages(plan) == ""


def test_sets_of_another_directory_are_asked_for_by_it(plan: Plan, shelf: SetShelf, made: Make, tmp_path: Path) -> None:
    made(datetime.now(UTC))
    other = str(tmp_path / "other")
    assert ages(plan, other) == ""
    shutil.copytree(shelf.home, site_shelf(plan, other).home)
    assert ages(plan, other) == ages(plan) != ""
