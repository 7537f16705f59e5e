"""Rows of the newest backup set: the age of each part, and whether it was seen to restore."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from ..backup.logs import job as logs
from ..backup.sets import disk, job, places, target, timer
from ..backup.sets.take import MARIADB, parts
from ..errors import GroundupError
from ..plan.types import Plan
from .rows import RowState, StatusRow, spoken_age

_SETS = "sets"  # row of what is not of one part


def set_rows(plan: Plan, *, days: float, now: datetime | None = None) -> list[StatusRow]:
    """Return one row a part, and one of the set when it needs a look. Sizes are compared; digests are verify's."""
    shelf, run = job.site_shelf(plan), f"run the playbook {disk.PLAYBOOK}"
    try:
        target.refuse_away(plan.site, shelf.home)
        if not shelf.names():
            what = "no set yet: nothing of the cluster is saved"
            return [StatusRow(name=_SETS, state="warning", what=what, remedy=run), *_timer(plan)]
        newest, place = shelf.find("newest")
        shelf.refuse_other(newest, site=plan.site, place=place)
    except GroundupError as error:
        return [StatusRow(name=_SETS, state="broken", what=error.what, remedy=error.remedy)]
    tests = (disk.tested(place) or {}).get("parts", {})
    rows = [StatusRow(name=one, state="broken", what="not in the newest set", remedy=run)
            for one in parts(plan) if one not in newest.parts]  # fmt: skip
    for name, part in newest.parts.items():
        age = ((now or datetime.now(UTC)) - datetime.fromisoformat(part["taken"])).total_seconds()
        test, late = str(tests.get(name, {}).get("state", "not tested")), age > days * 86400
        whole = _whole(place / Path(part["file"]).name, part["stored"])
        state: RowState = "ok" if whole and test == "ok" and not late else "warning"
        state = state if whole and test != "damaged" else "broken"
        tested = f"restore test: {tests[name]['state']}" if name in tests else "not tested that it restores"
        rows.append(
            StatusRow(
                name=name, state=state, what=f"{spoken_age(age)} old, {tested if whole else 'its file is not whole'}",
                remedy="" if state == "ok" else f"{run}, each night by cron" if late else run,
                facts={"set": newest.name, "age": int(age), "size": part["size"], "stored": part["stored"],
                       "tested": test},
            )
        )  # fmt: skip
    if not places.off_host(plan, shelf):
        what, remedy = (
            f"{len(shelf.names())} kept on this machine's own disk",
            "write backups.directory (docs/backup.md)",
        )
        rows.append(StatusRow(name=_SETS, state="warning", what=what, remedy=remedy))
    if plan.backups.s3 and not (place / disk.UPLOADED).is_file():
        what = f"the newest is not in the bucket {plan.backups.s3.bucket}"
        rows.append(StatusRow(name="bucket", state="warning", what=what, remedy=f"{run}, tag upload"))
    return [*rows, *_logs(plan, shelf, newest), *_timer(plan)]


def _logs(plan: Plan, shelf: disk.SetShelf, newest: disk.SetBackup) -> list[StatusRow]:
    if not plan.backups.logs_every or MARIADB not in newest.parts:
        return []
    name, run = "binary logs", f"systemctl status {timer.logs_unit(plan.site)}; or run the playbook {logs.PLAYBOOK}"
    try:
        wrong, age = logs.late(plan, shelf.home)
        lacks = "" if wrong else logs.lacking(shelf.home, newest)
    except GroundupError as error:
        return [StatusRow(name=name, state="broken", what=error.what, remedy=error.remedy)]
    copied = "" if age is None else f"copied to {spoken_age(age)} ago"
    what = ", ".join(filter(None, (wrong or copied, copied if wrong else "", lacks)))
    state: RowState = "broken" if wrong else "warning" if lacks else "ok"
    remedy = run if wrong else f"run the playbook {disk.PLAYBOOK}: logs follow the new set" if lacks else ""
    return [StatusRow(name=name, state=state, what=what, remedy=remedy, facts={"age": int(age or 0)})]


def _timer(plan: Plan) -> list[StatusRow]:
    if not plan.backups.schedule:
        return []
    wrong = timer.fault(plan)
    what, remedy = wrong or (plan.backups.schedule, "")
    return [StatusRow(name="timer", state="broken" if wrong else "ok", what=what, remedy=remedy)]


def _whole(file: Path, size: int) -> bool:
    return file.is_file() and file.stat().st_size == size
