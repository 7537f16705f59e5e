"""A service without facts of its real chart is told the command that derives them."""

from __future__ import annotations

from typing import Any

import pytest


def test_a_chart_without_facts_fails_with_the_command_that_makes_them(facts: Any, keys: Any) -> None:
    for found in (facts, keys):
        with pytest.raises(pytest.fail.Exception, match=r"contract\.derive VALUES OBJECTS aodh"):
            found["aodh"]
