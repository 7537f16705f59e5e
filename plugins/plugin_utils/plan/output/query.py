"""Questions to a plan, in JMESPath."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import jmespath
from jmespath.exceptions import JMESPathError

from ...errors import GroundupError


@dataclass(frozen=True, slots=True)
class PlanAnswer:
    """What was asked for, and its text: a list of texts one per line, anything else as JSON."""

    value: Any
    text: str


def answer(plan: Mapping[str, Any], query: str) -> PlanAnswer:
    """Return the answer of ``plan`` (the content of plan.json) to ``query``. Raises GroundupError."""
    try:
        value = jmespath.search(query, plan)
    except JMESPathError as error:
        raise GroundupError(
            f"not a question in JMESPath: {' '.join(str(error).split())}",
            where="the variable plan_query",
            why="nothing can be looked up with it",
            remedy='see https://jmespath.org; -e plan_query="keys(@)" lists what plan.json has',
        ) from error
    if value is None:
        raise GroundupError(
            f"the plan has nothing at {query}",
            where="the variable plan_query",
            why="a name in it is not one of plan.json, or has no value on this site",
            remedy='-e plan_query="keys(@)" lists what plan.json has',
        )
    lines = value if isinstance(value, list) and all(isinstance(one, str) for one in value) else None
    return PlanAnswer(value, "\n".join(lines) if lines is not None else json.dumps(value, indent=2))
