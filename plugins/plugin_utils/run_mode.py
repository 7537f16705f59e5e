"""Whether a run is a dry run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def dry_run(variables: Mapping[str, Any]) -> bool:
    """Say whether a run with these variables is a dry run: check mode, or ``--tags check``.

    Equals the inventory's ``groundup_dry_run``, for lookups, which do not see a task's own check mode.
    """
    return bool(variables.get("ansible_check_mode")) or "check" in (variables.get("ansible_run_tags") or ())
