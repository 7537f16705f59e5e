"""What the verbs on machines share: whether a run is a dry run, their machine, and by which reasons they disable it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .errors import GroundupError

# What Nova keeps as a service's disabled_reason.
DRAIN, EVACUATE, RETIRE = "groundup.cloud.drain", "groundup.cloud.evacuate", "groundup.cloud.retire"
DISABLING = (DRAIN, EVACUATE, RETIRE)


def dry_run(variables: Mapping[str, Any]) -> bool:
    """Say whether a run with these variables changes nothing: check mode, or ``--tags check``.

    The inventory's ``groundup_dry_run`` for lookups, which do not see a task's own check mode.
    """
    return bool(variables.get("ansible_check_mode")) or "check" in (variables.get("ansible_run_tags") or ())


def named(verb: str, name: str, *, why: str) -> str:
    """Return ``name``, the machine of the playbook ``verb``. Raises GroundupError when none is named."""
    if name:
        return name
    raise GroundupError(
        "no machine is named",
        where=f"the variable {verb}_machine",
        why=why,
        remedy=f"ansible-playbook groundup.cloud.{verb} -e {verb}_machine=NAME",
    )
