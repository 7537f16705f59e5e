"""A floating IP outlives members of OVN's databases, their leader, and its gateway chassis.

Needs tests/e2e/network/site.yml.
Each case prints a line of JSON: how many pings were lost, and the longest silence in seconds. Bounds are generous: they
tell an outage from a gap, on a machine that does other things, too.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._ovn.databases import DATABASES, NB, NORTHD, SB
from ansible_collections.groundup.cloud.plugins.plugin_utils.backup.ovn import OvnPart
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.types import Plan
from ansible_collections.groundup.cloud.tests.e2e.cluster import play
from ansible_collections.groundup.cloud.tests.e2e.failover import (
    FAILOVER,
    NO_GAP,
    Connect,
    Measure,
    asked,
    gateway,
    hypervisors,
    kept_instance,
    killed,
    leader,
    lose_gateway,
    nbctl,
)
from ansible_collections.groundup.cloud.tests.e2e.waiting import until

pytestmark = pytest.mark.lab


@pytest.fixture(scope="module", autouse=True)
def big(plan: Plan) -> None:
    """Skip on a site that cannot lose a control host or a hypervisor."""
    if len(plan.edge.hosts) < 3 or len(hypervisors(plan)) < 3:
        pytest.skip("three control hosts and three hypervisors are needed: see tests/e2e/network/site.yml")


@pytest.fixture(scope="module")
def guest(plan: Plan, outside: Callable[..., Any]) -> Iterator[str]:
    """The floating IP of an instance on the last hypervisor."""
    with kept_instance(plan, outside) as address:
        yield address


@pytest.fixture
def measure(guest: str, measured: Measure) -> Measure:
    """Return a context that pings the instance, and prints what came of it."""
    return lambda case, host: measured(guest, case, host)


def everything_passes(plan: Plan, connect: Connect, *, without: str = "") -> float:
    """Return the seconds until a write to NB has gone through northd and SB to every chassis."""
    started = time.monotonic()
    nbctl(plan, connect, "--wait=hv sync", without=without)
    return time.monotonic() - started


def members_are_back(plan: Plan, connect: Connect) -> None:
    """Wait until every control host's members know their leaders."""

    def works() -> bool:
        said = [asked(connect(name), one) for name in plan.edge.hosts for one in DATABASES]
        return all(one and one.works for one in said)

    until(works, seconds=120)


@pytest.mark.parametrize("which", ["member", "leader"])
def test_a_lost_control_host_of_the_databases_costs_no_packets_and_writes_go_on(
    which: str, plan: Plan, connect: Connect, measure: Measure, capfd: pytest.CaptureFixture[str]
) -> None:
    leads = {one.short: leader(plan, connect, one) for one in DATABASES}
    others = [name for name in plan.edge.hosts if name not in leads.values()]
    lost = leads["sb"] if which == "leader" else others[0]
    units = " ".join([*(one.unit for one in DATABASES), NORTHD])
    with measure(f"{which} lost", lost) as found, killed(connect(lost), units, again=units):
        seconds = everything_passes(plan, connect, without=lost)
        assert lost not in (leader(plan, connect, NB), leader(plan, connect, SB))
    with capfd.disabled():
        line = {"case": f"{which} lost: a write reaches every chassis", "host": lost, "seconds": round(seconds, 1)}
        print(f"\n{json.dumps(line)}", flush=True)
    members_are_back(plan, connect)
    assert found[0].silent <= NO_GAP
    assert seconds <= 60


def test_a_lost_gateway_chassis_is_replaced_and_its_return_costs_little(
    plan: Plan, connect: Connect, measure: Measure
) -> None:
    """The instance is on the other hypervisor: only the way to it is lost."""
    lost, back = lose_gateway(plan, connect, measure)
    assert lost.silent <= FAILOVER
    assert back.silent <= FAILOVER


def test_networks_that_the_northbound_database_lost_come_back_with_the_backup(
    plan: Plan, connect: Connect, measure: Measure
) -> None:
    play("network_backup")
    port, _ = gateway(plan, connect)
    backups = OvnPart(plan, lambda *_, **__: pytest.fail("hosts are asked by playbooks"))
    before = backups.verify(days=1)["backup"]["name"]
    said = play("network_restore", code=2)
    assert '"network_restore_force": ["overwrite"]' in said.replace("\\", "")
    with measure("router deleted in NB, backup restored", "") as found:
        nbctl(plan, connect, f"lrp-del {port}")
        said = play("network_restore", network_restore_from=before, network_restore_force=["overwrite"])
        everything_passes(plan, connect)
    assert "neutron-ovn-db-sync-util" in said
    until(lambda: gateway(plan, connect)[0] == port, seconds=60)
    assert 0 < found[0].lost < found[0].sent
    assert backups.shelf(replaced=True).names(), "what was there is saved before"
