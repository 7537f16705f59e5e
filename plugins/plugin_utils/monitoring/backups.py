"""When each part of a site was saved last, for monitoring."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from ..backup.logs import job as logs_job
from ..backup.logs.disk import LogShelf
from ..backup.sets.disk import UPLOADED, tested
from ..backup.sets.job import site_shelf
from ..backup.sets.take import MARIADB, parts
from ..errors import GroundupError
from ..plan.types import Plan

TEST, COPY, LOGS = "restore-test", "bucket-copy", "binary-logs"
_NEVER = "1970-01-01T00:00:00Z"


def ages(plan: Plan, directory: str = "", *, warnings: list[str]) -> dict[str, int]:
    """Return when the newest set saved each part, in seconds since 1970; 0: it lacks it, or no set can be read.

    Beside them when the newest set of all that passed its restore test was taken, and of those in the bucket; and until
    when binary logs follow the newest set.
    """
    shelf, logs = site_shelf(plan, directory), plan.backups.logs_every and MARIADB in parts(plan)
    more = [TEST, *([COPY] if plan.backups.s3 else []), *([LOGS] if logs else [])]
    found = dict.fromkeys([*parts(plan), *more], 0)
    try:
        newest, place = shelf.find("newest")
        shelf.refuse_other(newest, site=plan.site, place=place)
        found |= {name: _seconds(part["taken"]) for name, part in newest.parts.items()}
        places = [shelf.home / name for name in shelf.names()]
        found[TEST] = _first(one.name for one in places if (tested(one) or {}).get("state") == "ok")
        if COPY in more:
            found[COPY] = _first(one.name for one in places if (one / UPLOADED).is_file())
        if LOGS in more and (stream := LogShelf(shelf.home).newest()) and not logs_job.lacking(shelf.home, newest):
            found[LOGS] = _seconds(stream.last().get("time", _NEVER))
    except GroundupError:  # status and the playbook's verification say why
        return found
    except OSError as error:
        warnings.append(f"monitoring is not told of the newest backup set: {error}. Remedy: look at its file system")
    return found


def _first(names: Iterator[str]) -> int:
    return _seconds(next(names, _NEVER))


def _seconds(time: str) -> int:
    return int(datetime.fromisoformat(time).timestamp())
