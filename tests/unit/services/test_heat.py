"""Heat's verifier: a stack is made, tells its output, and is gone."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.services.heat import judge

MADE: dict[str, Any] = {
    "stack_status": "CREATE_COMPLETE",
    "outputs": [{"output_key": "word", "output_value": "abcdefghijkl"}],
}
GONE = {"stack_status": "DELETE_COMPLETE"}


def test_a_stack_that_was_made_and_deleted_is_well() -> None:
    assert judge(MADE, GONE).ok


@pytest.mark.parametrize(
    ("stack", "gone", "said"),
    [
        (
            {**MADE, "stack_status": "CREATE_FAILED", "stack_status_reason": "no engine"},
            GONE,
            "CREATE_FAILED: no engine",
        ),
        ({**MADE, "stack_status": "CREATE_IN_PROGRESS"}, GONE, "CREATE_IN_PROGRESS"),
        ({**MADE, "outputs": []}, GONE, "does not tell"),
        ({**MADE, "outputs": [{"output_key": "word", "output_value": None}]}, GONE, "does not tell"),
        (MADE, {"stack_status": "DELETE_FAILED", "stack_status_reason": "trust"}, "DELETE_FAILED: trust"),
        ({}, {}, "is None"),
    ],
)
def test_anything_else_is_said(stack: dict[str, Any], gone: dict[str, Any], said: str) -> None:
    check = judge(stack, gone)
    assert not check.ok
    assert said in check.detail
    assert check.object == "Deployment/heat-engine"
