"""How an action of the controller ends: with its result, or with what is wrong, never with a traceback."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..module_utils._base.changes import Changes
from ..module_utils._base.errors import GroundupError, file_error
from .plan import SiteError


def finish(
    result: dict[str, Any], work: Callable[[], dict[str, Any]], *, changes: Changes | None = None
) -> dict[str, Any]:
    """Return ``result`` with what ``work`` returns, or with its error and the ``changes`` made before it."""
    try:
        return result | work()
    except (GroundupError, SiteError, OSError) as error:
        fault = file_error(error, host="this machine") if isinstance(error, OSError) else error
        return {**result, **(changes.result() if changes else {}), "failed": True, "msg": str(fault)}
