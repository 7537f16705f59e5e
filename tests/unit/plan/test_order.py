"""The list of findings is short: causes first, nothing that follows from them, many machines as one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import ansible_collections.groundup.cloud.plugins.plugin_utils.plan as package
import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.findings.order import FOLLOWS, ordered
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.form import error, warning
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.types import Finding


def lost(machine: str, network: str = "storage") -> Finding:
    return error("network-without-port", f"machines.hv.machines.{machine}.ports.{network}")(
        what=f"nothing says which port of {machine} is on {network}", why="it would be left out", remedy="write it"
    )


def test_findings_that_differ_in_the_machine_alone_are_one() -> None:
    machines = [f"hv-{number:02}" for number in range(1, 21)]
    found = ordered([lost(one) for one in machines], machines)
    assert [one.what for one in found] == [
        "nothing says which port of hv-01 is on storage; so for hv-02, hv-03, hv-04 and 16 more"
    ]


def test_findings_about_other_networks_or_groups_stay_apart() -> None:
    found = ordered([lost("hv-1"), lost("hv-2"), lost("hv-1", "tunnel"), lost("other")], ["hv-1", "hv-2"])
    assert len(found) == 3


def test_errors_come_first_and_of_those_the_unknown_names() -> None:
    late = warning("a-warning", "x")(what="w", why="y", remedy="r")
    cause = error("unknown-rack", "machines.hv")(what="w", why="y", remedy="r")
    assert [one.name for one in ordered([late, lost("hv-1"), cause], ["hv-1"])] == [
        "unknown-rack", "network-without-port", "a-warning",
    ]  # fmt: skip


def test_what_follows_from_a_misspelt_hardware_profile_is_left_out() -> None:
    cause = error("unknown-hardware", "machines.hv.hardware")(what="w", why="y", remedy="r")
    other = lost("st-1")
    other = error(other.name, "machines.st.ports.storage")(what=other.what, why=other.why, remedy=other.remedy)
    found = ordered([lost("hv-1"), cause, other], ["hv-1", "st-1"])
    assert [one.where[0] for one in found] == ["machines.hv.hardware", "machines.st.ports.storage"]


@pytest.mark.parametrize("group", ["hypervisor", "storage", "control", "seed"])
@pytest.mark.parametrize("site", ["region", "ha"])
def test_a_misspelt_hardware_profile_is_one_error(plan_of: Callable[..., Plan], site: str, group: str) -> None:
    plan = plan_of(site, {f"machines/{group}/hardware": "two-port"})
    assert [one.name for one in plan.findings if one.severity == "error"] == ["unknown-hardware"]


def test_what_follows_from_a_cause_are_findings_that_there_are() -> None:
    files = [path for path in Path(package.__file__).parent.rglob("*.py") if path.name != "order.py"]
    source = "\n".join(path.read_text() for path in files)
    assert [name for names in FOLLOWS.values() for name in names if f'"{name}"' not in source] == []
