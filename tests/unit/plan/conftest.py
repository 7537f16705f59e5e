"""Sites to start from, and a way to change them."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.groundup.cloud.plugins.plugin_utils.compose import with_values
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan, build_site, make_plan

ROOT = Path(__file__).resolve().parents[3]
GONE = object()  # as a value in `changed`: the key is taken out


def example(name: str) -> dict[str, Any]:
    """Return the example site ``name`` as plain data."""
    data: dict[str, Any] = yaml.safe_load((ROOT / "inventories" / name / "site.yml").read_text())
    return data


def changed(data: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """Return a copy of ``data`` with each key path in ``changes`` set; mappings on the way are made."""
    data = copy.deepcopy(data)
    for path, value in changes.items():
        *way, last = path.split("/")
        part = data
        for key in way:
            part = part.setdefault(key, {})
        if value is GONE:
            del part[last]
        else:
            part[last] = value
    return data


@pytest.fixture
def plan_of() -> Callable[..., Plan]:
    """Return a function that plans an example site, by name, with changes."""

    def plan(name: str, changes: dict[str, Any] | None = None) -> Plan:
        return with_values(make_plan(build_site(changed(example(name), changes or {}))))

    return plan


@pytest.fixture
def gone() -> object:
    """Return the value that takes a key out."""
    return GONE
