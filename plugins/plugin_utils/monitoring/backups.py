"""The age of each part of the newest backup set, as a metric."""

from __future__ import annotations

from datetime import datetime

from ..backup.sets.job import site_shelf
from ..backup.sets.take import parts
from ..errors import GroundupError
from ..plan.types import Plan

METRIC = "groundup_backup_newest_timestamp_seconds"


def ages(plan: Plan, directory: str = "") -> str:
    """Return the metric's text, 0 for a part that the newest set lacks.

    "" without a set that can be read: what was told before stays, and its age grows.
    """
    shelf = site_shelf(plan, directory)
    try:
        newest, place = shelf.find("newest")
        shelf.refuse_other(newest, site=plan.site, place=place)
    except GroundupError:  # status and the playbook's verification say why
        return ""
    found = dict.fromkeys(parts(plan), 0.0)
    found |= {name: datetime.fromisoformat(part["taken"]).timestamp() for name, part in newest.parts.items()}
    lines = [f'{METRIC}{{part="{name}"}} {taken:.0f}' for name, taken in sorted(found.items())]
    return "\n".join(
        [f"# HELP {METRIC} When the newest backup set saved a part.", f"# TYPE {METRIC} gauge", *lines, ""]
    )
