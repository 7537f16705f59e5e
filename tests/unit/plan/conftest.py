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
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.input.load import with_files
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.model.site import NamedFile
from ansible_collections.groundup.cloud.tests.unit.certificates import NOW

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
    """Return a function that plans an example site, by name, with changes; ``files``: texts of files it names."""

    def plan(name: str, changes: dict[str, Any] | None = None) -> Plan:
        keys = dict(changes or {})
        texts: dict[str, str] = keys.pop("files", {})
        site = build_site(changed(example(name), keys))
        files = {one: NamedFile(text=texts[one]) for one in site.named_files if one in texts}
        return with_values(make_plan(with_files(site, files, now=NOW)))

    return plan


@pytest.fixture
def gone() -> object:
    """Return the value that takes a key out."""
    return GONE
