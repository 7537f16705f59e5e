"""Which of the three verbs a run has: check, apply or verify."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def predicts(variables: Mapping[str, Any]) -> bool:
    """Say whether a run with these variables only says what it would do: in check mode, or with ``--tags check``.

    The same as the inventory's ``groundup_predicts``, for lookups: a task's own check mode is no variable.
    """
    return bool(variables.get("ansible_check_mode")) or "check" in (variables.get("ansible_run_tags") or ())
