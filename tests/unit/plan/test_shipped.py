"""Site files that we ship are what somebody starts from: each plans, is built by this version, and is on the pages."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import jsonschema
import pytest
from ansible_collections.groundup.cloud.ci.reference import site_file as reference
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan
from ansible_collections.groundup.cloud.tests.unit.plan.conftest import example

ROOT = Path(__file__).resolve().parents[3]
SITES = sorted(path.parent.name for path in (ROOT / "inventories").glob("*/site.yml"))
# What no site should have that somebody starts from: it is not built, not tried, or meets what others filter.
UNWANTED = {
    "not-in-this-version", "not-run-here", "discovery-needs-cabling", "provisioning-tagged", "wiring-unused",
    "address-looks-like-a-network", "several-seeds", "one-plane-for-everything", "plane-missing",
}  # fmt: skip
# Warnings that each site keeps on purpose, with the reason in docs or the file.
KEPT = {
    "edge": {"provider-network-on-control-host"},  # one host has every role
    "ha": {  # a test's small machines in one place, on virtual wires
        "gateway-not-replaced", "hardware-too-small", "host-key-missing", "osd-in-a-file",
        "quorum-in-one-failure-domain", "tenant-mtu-below-1500",
    },
    "rack": {"host-key-missing", "keys-in-software"},  # keys are the operator's machines'; docs/rack.md says so
    "rack-metal": {"host-key-missing", "keys-in-software"},
}  # fmt: skip


@pytest.mark.parametrize("name", SITES)
def test_a_shipped_site_is_one_that_this_version_builds(plan_of: Callable[..., Plan], name: str) -> None:
    findings = plan_of(name).findings
    assert [one for one in findings if one.severity == "error" or one.name in UNWANTED] == []
    assert [one.what for one in findings if "does not build" in one.what] == []
    assert {one.name for one in findings if one.severity == "warning"} == KEPT.get(name, set())


@pytest.mark.parametrize("name", SITES)
def test_the_schema_accepts_a_shipped_site(name: str) -> None:
    jsonschema.validate(example(name), json.loads(reference.json_schema()))


def test_a_site_is_called_as_its_directory() -> None:
    assert {name: example(name)["site"] for name in SITES} == {name: name for name in SITES}


def test_the_page_lists_every_site() -> None:
    page = (ROOT / "docs/profiles.md").read_text()
    assert re.findall(r"^\| `inventories/([a-z-]+)` \|", page, flags=re.M) == SITES


def test_the_rack_from_power_off_differs_in_what_the_page_says_alone() -> None:
    bodies = [
        (ROOT / "inventories" / name / "site.yml").read_text().partition("\nplugin:")[2].splitlines()
        for name in ("rack", "rack-metal")
    ]
    more = [line.split("#")[0].strip() for line in bodies[1] if line not in bodies[0]]
    assert len(more) == 6, "the name of the site, and five lines"
    assert [line for line in bodies[0] if line not in bodies[1]] == [
        "site: rack", *(line for line in bodies[0] if "manage_network" in line),
    ]  # fmt: skip


def test_the_rack_has_no_place_that_holds_two_of_three(plan_of: Callable[..., Plan]) -> None:
    plan = plan_of("rack")
    for role in ("control", "storage"):
        racks = [host.rack for host in plan.hosts.values() if host.roles == (role,)]
        assert sorted(racks) == ["r1", "r2", "r3"]
