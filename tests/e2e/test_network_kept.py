"""A floating IP outlives members of OVN's databases, their leader, and its gateway chassis.

Needs tests/e2e/network/site.yml.
Each case prints how many pings were lost and the longest silence. Bounds are generous: they tell an outage from a
gap, on a machine that does other things, too.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._ovn import status
from ansible_collections.groundup.cloud.plugins.module_utils._ovn.databases import DATABASES, NB, NORTHD, SB, Database
from ansible_collections.groundup.cloud.plugins.plugin_utils.ovn import backups
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.types import Plan
from ansible_collections.groundup.cloud.tests.e2e.cluster import play
from ansible_collections.groundup.cloud.tests.e2e.pinging import Pings, pinged
from ansible_collections.groundup.cloud.tests.e2e.waiting import until

pytestmark = pytest.mark.lab
Connect = Callable[[str], Any]
Measure = Callable[[str], Any]
SWITCH = "ovs-vswitchd.service ovn-controller.service"
# As a whole: where the switch carries packets itself, the tunnels' address goes with its process, and comes with this.
SWITCH_AGAIN = "openvswitch-switch.service ovn-controller.service"
# Seconds of silence: packets need no database; BFD takes 3, and routers announce themselves.
NO_GAP, FAILOVER = 5.0, 60.0


@pytest.fixture(scope="module", autouse=True)
def big(plan: Plan) -> None:
    """Skip on a site that cannot lose a control host or a hypervisor."""
    if len(plan.edge.hosts) < 3 or len(hypervisors(plan)) < 2:
        pytest.skip("three control hosts and two hypervisors are needed: see tests/e2e/network/site.yml")


def hypervisors(plan: Plan) -> list[str]:
    """Return the names of the hypervisors."""
    return sorted(name for name, host in plan.hosts.items() if "hypervisor" in host.roles)


def root(host: Any, command: str) -> str:
    """Run a shell command on a host as root and return what it says. Fails when it fails."""
    done = host.run("sudo sh -euc %s", command)
    assert done.rc == 0, done.stdout + done.stderr
    return str(done.stdout)


def asked(host: Any, database: Database) -> status.Status | None:
    """Return what a host's member says, None when it does not answer."""
    done = host.run(f"sudo ovn-appctl -T 5 -t {database.control} cluster/status {database.name}")
    return status.parse(done.stdout) if done.rc == 0 else None


def leader(plan: Plan, connect: Connect, database: Database) -> str:
    """Return the control host whose member leads, "" when none does."""
    said = {name: asked(connect(name), database) for name in plan.edge.hosts}
    return next((name for name, one in said.items() if one and one.role == "leader"), "")


def nbctl(plan: Plan, connect: Connect, command: str, *, without: str = "") -> str:
    """Have a control host tell the northbound database something; its member passes it on to the leader."""
    name = next(one for one in plan.edge.hosts if one != without)
    return root(connect(name), f"ovn-nbctl --no-leader-only --db={NB.socket} --timeout=60 {command}")


@contextmanager
def killed(host: Any, units: str, *, again: str) -> Iterator[None]:
    """End units of a host without a farewell, keep them down while the block runs, then start ``again``."""
    root(host, f"systemctl mask --quiet --runtime {units}; systemctl kill --signal KILL {units}")
    try:
        yield
    finally:
        root(host, f"systemctl unmask --quiet --runtime {units}; systemctl reset-failed {units} || true")
        root(host, f"systemctl restart {again}")


@pytest.fixture(scope="module")
def guest(plan: Plan) -> Iterator[str]:
    """The floating IP of an instance on the last hypervisor."""
    said = play("tenant_smoke", tenant_smoke_keep=True, tenant_smoke_host=hypervisors(plan)[-1])
    answered = re.search(r"answered at ([0-9.]+):", said)
    assert answered, said[-4000:]
    yield answered[1]
    play("tenant_smoke")  # deletes what the first one left


@pytest.fixture
def measure(guest: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> Measure:
    """Return a context that pings the instance, and prints what came of it under a name."""

    @contextmanager
    def measured(case: str) -> Iterator[list[Pings]]:
        with pinged(guest, tmp_path / "ping") as found:
            time.sleep(2)
            yield found
            time.sleep(2)
        with capfd.disabled():
            print(f"\n[kept] {case}: {found[0]}", flush=True)

    return measured


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
    with measure(f"{which} lost ({lost})") as found, killed(connect(lost), units, again=units):
        seconds = everything_passes(plan, connect, without=lost)
        assert lost not in (leader(plan, connect, NB), leader(plan, connect, SB))
    with capfd.disabled():
        print(f"[kept] {which} lost ({lost}): a write reached every chassis after {seconds:.1f} s", flush=True)
    members_are_back(plan, connect)
    assert found[0].silent <= NO_GAP
    assert seconds <= 60


def gateway(plan: Plan, connect: Connect) -> tuple[str, str]:
    """Return the gateway port of the guest's router, and the chassis that has it now; "" for what there is not."""
    control = connect(plan.edge.hosts[0])
    command = f"ovn-sbctl --no-leader-only --db={SB.socket} --timeout=60"
    said = root(control, f"{command} --bare --columns=logical_port,chassis find port_binding type=chassisredirect")
    port, chassis = [*said.split(), "", ""][:2]
    name = root(control, f"{command} get chassis {chassis} name").strip().strip('"') if chassis else ""
    return port.removeprefix("cr-"), name


def prefer(plan: Plan, connect: Connect, port: str, ranks: list[str]) -> None:
    """Have the last of these chassis have the gateway port, the one before it when that is lost."""
    group = nbctl(plan, connect, f"get logical_router_port {port} ha_chassis_group").strip()
    for rank, name in enumerate(ranks, start=1):
        if group == "[]":
            nbctl(plan, connect, f"lrp-set-gateway-chassis {port} {name} {rank}")
        else:  # what newer releases of Neutron use
            nbctl(plan, connect, f"ha-chassis-group-add-chassis {group} {name} {rank}")


def test_a_lost_gateway_chassis_is_replaced_and_its_return_costs_little(
    plan: Plan, connect: Connect, measure: Measure
) -> None:
    """The instance is on the other hypervisor: only the way to it is lost."""
    first, *_, home = hypervisors(plan)
    port, _ = gateway(plan, connect)
    prefer(plan, connect, port, [home, first])
    until(lambda: gateway(plan, connect)[1] == first, seconds=60)
    with ExitStack() as down:
        with measure(f"gateway chassis lost ({first})") as lost:
            down.enter_context(killed(connect(first), SWITCH, again=SWITCH_AGAIN))
            until(lambda: gateway(plan, connect)[1] == home, seconds=FAILOVER)
        with measure(f"gateway chassis back ({first})") as back:
            down.close()
            until(lambda: gateway(plan, connect)[1] == first, seconds=FAILOVER)
    assert lost[0].silent <= FAILOVER
    assert back[0].silent <= FAILOVER


def test_networks_that_the_northbound_database_lost_come_back_with_the_backup(
    plan: Plan, connect: Connect, measure: Measure
) -> None:
    play("network_backup")
    port, _ = gateway(plan, connect)
    before = backups.verify(plan.site, days=1)
    said = play("network_restore", code=2)
    assert '"network_restore_force": ["overwrite"]' in said.replace("\\", "")
    with measure("router deleted in NB, backup restored") as found:
        nbctl(plan, connect, f"lrp-del {port}")
        said = play("network_restore", network_restore_from=before.name, network_restore_force=["overwrite"])
        everything_passes(plan, connect)
        time.sleep(10)
    assert "neutron-ovn-db-sync-util" in said
    until(lambda: gateway(plan, connect)[0] == port, seconds=60)
    assert 0 < found[0].lost < found[0].sent
    assert len(backups.names(plan.site)) >= 2, "what was there is saved before"
