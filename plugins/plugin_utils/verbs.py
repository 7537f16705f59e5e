"""Shared by playbooks that act on one machine: dry run, the machine's name, and Nova's disabled_reason."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .errors import GroundupError

# Values of a Nova service's disabled_reason.
DRAIN, EVACUATE, RETIRE = "groundup.cloud.drain", "groundup.cloud.evacuate", "groundup.cloud.retire"
DISABLING = (DRAIN, EVACUATE, RETIRE)


def dry_run(variables: Mapping[str, Any]) -> bool:
    """Say whether a run with these variables is a dry run: check mode, or ``--tags check``.

    Equals the inventory's ``groundup_dry_run``, for lookups, which do not see a task's own check mode.
    """
    return bool(variables.get("ansible_check_mode")) or "check" in (variables.get("ansible_run_tags") or ())


def named(verb: str, name: str, *, why: str) -> str:
    """Return ``name``, the machine that the playbook ``verb`` acts on. Raises GroundupError when it is empty."""
    if name:
        return name
    raise GroundupError(
        "no machine is named",
        where=f"the variable {verb}_machine",
        why=why,
        remedy=f"ansible-playbook groundup.cloud.{verb} -e {verb}_machine=NAME",
    )
