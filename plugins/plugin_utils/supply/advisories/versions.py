"""Order of versions by the rules of those who give them: dpkg for Debian, `packaging` for Python packages."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, cmp_to_key
from typing import Any

from packaging.version import InvalidVersion, Version

from ....module_utils._base.run import attempt

Order = Callable[[str], Any]  # a version -> what sorts like it. Raises VersionError, also when it is compared


class VersionError(ValueError):
    """What is written is no version by the rules of its ecosystem."""


@cache
def _debian(one: str, other: str) -> int:
    """Return -1, 0 or 1. Raises VersionError."""
    for relation, value in (("lt", -1), ("eq", 0)):
        done = attempt(["dpkg", "--compare-versions", one, relation, other])
        if done.returncode > 1 or done.stderr.strip():
            raise VersionError(f"dpkg cannot compare {one!r} with {other!r}: {done.stderr.strip()}")
        if done.returncode == 0:
            return value
    return 1


def _python(version: str) -> Version:
    try:
        return Version(version)
    except InvalidVersion as error:
        raise VersionError(f"{version!r} is no version of a Python package") from error


# Ecosystems whose versions are compared; of others it can only be said that an advisory names the package.
ORDERS: dict[str, Order] = {"Debian": cmp_to_key(_debian), "PyPI": _python}
