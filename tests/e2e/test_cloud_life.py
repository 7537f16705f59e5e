"""The life of a hypervisor with instances on it: drained, taken back, retired, and joined again by a site run.

Needs what `ci/lab up` left of a site with two hypervisors.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.types import Plan
from ansible_collections.groundup.cloud.tests.e2e.cluster import play
from ansible_collections.groundup.cloud.tests.e2e.pinging import pinged

pytestmark = pytest.mark.lab
SERVES = ["enabled", "up"]


@pytest.fixture(scope="module")
def names(plan: Plan) -> tuple[str, str]:
    """Return the hypervisor that leaves, and the other one."""
    found = sorted(name for name, host in plan.hosts.items() if "hypervisor" in host.roles)
    if len(found) != 2:
        pytest.skip("two hypervisors are needed: see inventories/cloud/site.yml")
    return found[0], found[1]


def steps(said: str) -> dict[str, str]:
    """Return what each step of a smoke said."""
    return dict(re.findall(r"^\[smoke\] (\S+(?: \S+)*) +[\d.]+ s  (.*)$", said, re.MULTILINE))


def test_a_whole_smoke_reads_consoles_and_moves_its_instance_live(
    names: tuple[str, str], outside: Callable[..., Any]
) -> None:
    here, there = names
    found = steps(play("tenant_smoke", tenant_smoke_host=here))
    assert found["live migration"].startswith(f"{here} to {there} in ")
    assert " lines, the last: " in found["console output"]
    assert "answers 200" in found["console URL"]
    assert outside("instances.py") == {}


def test_a_drain_moves_running_and_stopped_instances(
    names: tuple[str, str], outside: Callable[..., Any], tmp_path: Path
) -> None:
    here, there = names
    said = play("tenant_smoke", tenant_smoke_host=here, tenant_smoke_keep=True, tenant_smoke_thorough=False)
    address = re.findall(r"answered at ([\d.]+):", said)[-1]
    try:
        assert sorted(outside("instances.py", "stopped", here).values()) == [[here, "ACTIVE"], [here, "SHUTOFF"]]
        with pinged(address, tmp_path / "pings") as pings:
            said = play("drain", machine=here)
        print(pings[0])
        assert re.search(rf"\[drain\] smoke-\S+ \(\S+\)  live  .* to {there}$", said, re.MULTILINE)
        assert re.search(rf"\[drain\] stopped \(\S+\)  cold  .* to {there}$", said, re.MULTILINE)
        assert sorted(outside("instances.py").values()) == [[there, "ACTIVE"], [there, "SHUTOFF"]]
        assert pings[0].lost < pings[0].sent / 2, "it answers where it went"
        assert outside("instances.py", "start")["stopped"] == [there, "ACTIVE"], "its disk came along"
        play("drain", "--tags", "verify", machine=here)
    finally:
        outside("instances.py", "delete")
        play("undrain", machine=here)
    assert outside("cloud.py")["computes"] == {here: SERVES, there: SERVES}


@pytest.mark.long
def test_a_retired_hypervisor_joins_again_by_a_site_run(names: tuple[str, str], outside: Callable[..., Any]) -> None:
    here, there = names
    play("drain", machine=here)
    play("retire", machine=here)
    assert outside("cloud.py")["computes"] == {there: SERVES}
    said = play("site")
    assert "instance smoke-" in said, "something changed, so it was proven"
    assert outside("cloud.py")["computes"] == {here: SERVES, there: SERVES}
    assert outside("instances.py") == {}, "what the smoke of the drain had kept is gone, too"
