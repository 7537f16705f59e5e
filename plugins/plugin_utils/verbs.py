"""Whether a run is a dry run, and by which reasons the verbs on hypervisors disable them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

DRAIN, RETIRE = "groundup.cloud.drain", "groundup.cloud.retire"  # what Nova keeps as a service's disabled_reason


def dry_run(variables: Mapping[str, Any]) -> bool:
    """Say whether a run with these variables changes nothing: check mode, or ``--tags check``.

    The inventory's ``groundup_dry_run`` for lookups, which do not see a task's own check mode.
    """
    return bool(variables.get("ansible_check_mode")) or "check" in (variables.get("ansible_run_tags") or ())
