"""Whether a run is a dry run, or part of another."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

WITHIN_RUN = "GROUNDUP_WITHIN_RUN"  # in the environment of runs that are part of another


def dry_run(variables: Mapping[str, Any]) -> bool:
    """Say whether a run with these variables is a dry run: check mode, ``--tags check``, or a playbook that is one.

    Equals ``groundup_dry_run``, for lookups, which do not see a task's own check mode. Here the inventory's value of it
    is a template, and that of such a playbook is true.
    """
    return (
        variables.get("groundup_dry_run") is True
        or bool(variables.get("ansible_check_mode"))
        or "check" in (variables.get("ansible_run_tags") or ())
    )
