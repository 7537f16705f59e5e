"""Choices of tests."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Suite:
    """Tests whose names match ``chosen`` and not ``without``."""

    chosen: str
    without: str = ""
    guest: bool  # whether tests log in to instances

    def of(self, names: Iterable[str]) -> list[str]:
        """Return its tests."""
        return [
            one for one in names if re.search(self.chosen, one) and not (self.without and re.search(self.without, one))
        ]


_SLOW = r"\[.*\bslow\b.*\]"
SUITES = {
    "smoke": Suite(chosen=r"\[.*\bsmoke\b.*\]", guest=True),
    "api": Suite(chosen=r"\.api\.", without=_SLOW, guest=False),
    "rbac": Suite(chosen=r"\.rbac\.", guest=False),
    "scenario": Suite(chosen=r"\.scenario\.", guest=True),
    "trend": Suite(chosen=r"^rally\.", guest=False),
}
# Of tempest.api.
_AREAS = {"volume": "block storage", "object_storage": "object storage"}


def area(test: str) -> str:
    """Return what a test is of: the row of the table that counts it."""
    package, _, rest = test.partition(".")
    if package.endswith("_tempest_plugin"):
        return f"{package.removesuffix('_tempest_plugin')} (plugin)"
    words = [word for word in rest.split(".") if word != "serial_tests"]
    kind = words[1] if words[:1] == ["api"] and len(words) > 1 else words[0]
    return _AREAS.get(kind, kind)
