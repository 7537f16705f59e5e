"""docs/support.md says of every choice how far it was taken."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from ansible_collections.groundup.cloud.ci.tier import ROOT
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.platform.versions import KUBERNETES, OPENSTACK
from ansible_collections.groundup.cloud.plugins.plugin_utils.services import RECORDS

SUPPORT = (ROOT / "docs/support.md").read_text()
# Roles, that every site has; services, which have a table of their own; settings of a program that is chosen elsewhere;
# fields of resources (`cloud:`), which take what their API takes.
NO_CHOICE = {
    "AddressScope.version",
    "Bond.lacp_rate",
    "CloudSubnet.ipv6",
    "Compute.cpu_mode",
    "Compute.machine_type",
    "Encryption.key_size",
    "Encryption.location",
    "Encryption.provider",
    "ExtraRelease.pod_security",
    "GroupRule.direction",
    "Image.format",
    "Image.visibility",
    "MachineGroup.approve",
    "MachineGroup.roles",
    "Network.ranges",
    "OpenStack.overrides",
    "OpenStack.services",
    "Seed.runner",
    "Supply.firmware",
    "VolumeQos.consumer",
}


def test_it_has_every_version_that_a_site_may_choose() -> None:
    """A version that joins the matrix has its line."""
    assert [version for version in (*KUBERNETES, *OPENSTACK) if f"`{version}`" not in SUPPORT] == []


def test_it_has_every_service() -> None:
    """A service without a word would be taken for one that works."""
    assert [name for name in RECORDS if f"`{name}`" not in SUPPORT] == []


def choices() -> Iterator[tuple[str, str]]:
    """Yield field and value of each choice of the site file."""
    schema = json.loads((ROOT / "docs/site.schema.json").read_text())
    for model, described in schema["$defs"].items():
        for field, value in described.get("properties", {}).items():
            for allowed in _enums(value):
                yield from ((f"{model}.{field}", str(one)) for one in allowed if one is not None)


def _enums(node: Any) -> Iterator[list[str]]:
    """Yield each list of allowed values in a piece of the schema."""
    if isinstance(node, dict):
        if "enum" in node:
            yield node["enum"]
        for value in node.values():
            yield from _enums(value)
    elif isinstance(node, list):
        for value in node:
            yield from _enums(value)


@pytest.mark.parametrize(("field", "value"), sorted(set(choices())))
def test_it_has_every_choice_of_the_site_file(field: str, value: str) -> None:
    """Each value is in a row that begins with its field."""
    name = field.partition(".")[2]
    rows = [line for line in SUPPORT.splitlines() if re.match(rf"\| `[^|]*\b{name}` \|", line)]
    assert field in NO_CHOICE or any(f"`{value}`" in line for line in rows)
