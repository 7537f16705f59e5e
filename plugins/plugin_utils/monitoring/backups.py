"""When each part of a site was saved last, for monitoring."""

from __future__ import annotations

from datetime import datetime

from ..backup.sets.job import site_shelf
from ..backup.sets.take import parts
from ..errors import GroundupError
from ..plan.types import Plan


def ages(plan: Plan, directory: str = "", *, warnings: list[str]) -> dict[str, int]:
    """Return when the newest set saved each part, in seconds since 1970; 0: it lacks it, or no set can be read."""
    shelf, found = site_shelf(plan, directory), dict.fromkeys(parts(plan), 0)
    try:
        newest, place = shelf.find("newest")
        shelf.refuse_other(newest, site=plan.site, place=place)
    except GroundupError:  # status and the playbook's verification say why
        return found
    except OSError as error:
        warnings.append(f"monitoring is not told of the newest backup set: {error}. Remedy: look at its file system")
        return found
    return found | {name: int(datetime.fromisoformat(part["taken"]).timestamp()) for name, part in newest.parts.items()}
