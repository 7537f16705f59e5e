"""Where sets and logs are: a disk that is away, one that is lost with the machine, a bucket."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.backup.logs import job as logs_job
from ansible_collections.groundup.cloud.plugins.plugin_utils.backup.sets import job, places, state, take
from ansible_collections.groundup.cloud.plugins.plugin_utils.backup.sets.disk import SetShelf
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.paths import state_dir
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.part_types import BackupPlan, S3Plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.status.backup_sets import set_rows

from .test_job import Make, work


def test_a_directory_whose_file_system_is_away_gets_no_set_and_no_log(
    plan: Plan, made: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A mount point without its mount is a directory as well."""
    mounted, away = tmp_path / "mounted", tmp_path / "away"
    mounted.mkdir()
    plan = replace(plan, backup_directory=str(mounted), backups=BackupPlan(logs_every=5))
    shipped, backup = list[Path](), made()
    monkeypatch.setattr(take.Sources, "find", lambda *_, **__: None)
    monkeypatch.setattr(take, "take", lambda *_: backup)
    monkeypatch.setattr(logs_job, "ship", lambda _, home, **__: shipped.append(home))
    steps: tuple[Callable[[], object], ...] = (
        lambda: work(plan).take({}), lambda: work(plan).ship(say=print), lambda: work(plan).verify()
    )  # fmt: skip
    monkeypatch.setattr(job.BackupJob, "_remove", lambda *_: None)
    for step in steps[:2]:
        step()
    mounted.rename(away)
    mounted.mkdir()
    for step in steps:
        with pytest.raises(GroundupError, match=r"backups-away.(.|\n)*directories.json"):
            step()
    assert (len(shipped), list(mounted.iterdir())) == (1, [])
    (row,) = set_rows(plan, days=2)
    assert (row.state, "backups-away" in row.what) == ("broken", True)
    mounted.rmdir()
    away.rename(mounted)
    for step in steps[:2]:
        step()
    record = state_dir(plan.site) / "backups/directories.json"
    record.unlink()  # as on a control node that was restored
    for step in steps[:2]:
        step()
    assert record.is_file()
    assert "backups/directories.json" not in dict(state.files(plan.site, "site.yml"))


def test_only_another_disk_keeps_logs_and_only_a_bucket_elsewhere_is_another_place(plan: Plan, shelf: SetShelf) -> None:
    def told(*, endpoint: str = "", logs_every: int = 0) -> list[str]:
        s3 = S3Plan(endpoint=endpoint, bucket="b", prefix="", region="", access_key="", secret_key="")
        lost = places.exposed(
            replace(plan, backups=BackupPlan(s3=s3 if endpoint else None, logs_every=logs_every)), shelf
        )
        return [one.partition(":")[0].partition("(")[2].rstrip(")") for one in lost]

    assert told() == ["no-target-off-host"]
    assert told(endpoint=f"https://s3.{plan.domain}") == ["no-target-off-host"]
    assert told(endpoint="https://s3.example.com") == []
    assert told(endpoint="https://s3.example.com", logs_every=5) == ["logs-on-host"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(places, "_other_disk", lambda *_: True)
        assert told(logs_every=5) == told(endpoint=f"https://s3.{plan.domain}") == []
