"""Losing what a floating IP stands on: OVN's members on control hosts, and the chassis its router's gateway is on."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from ansible_collections.groundup.cloud.plugins.module_utils._ovn import status
from ansible_collections.groundup.cloud.plugins.module_utils._ovn.databases import NB, SB, Database
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.types import Plan
from ansible_collections.groundup.cloud.tests.e2e.cluster import play
from ansible_collections.groundup.cloud.tests.e2e.pinging import Pings
from ansible_collections.groundup.cloud.tests.e2e.waiting import until

Connect = Callable[[str], Any]
Measure = Callable[..., Any]
# Seconds of silence: BFD takes 3, and routers announce themselves.
FAILOVER = 60.0
NO_GAP = 5.0  # the same where no packet needs what is lost
_SWITCH = "ovs-vswitchd.service ovn-controller.service"
# As a whole: where the switch carries packets itself, the tunnels' address goes with its process, and comes with this.
_SWITCH_AGAIN = "openvswitch-switch.service ovn-controller.service"


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


@contextmanager
def kept_instance(plan: Plan, outside: Callable[..., Any]) -> Iterator[str]:
    """Boot an instance on the last hypervisor and yield its floating IP; delete everything of it afterwards."""
    here = hypervisors(plan)[-1]
    said = play("tenant_smoke", tenant_smoke_keep=True, tenant_smoke_host=here, tenant_smoke_thorough=False)
    try:
        answered = re.search(r"answered at ([0-9.]+):", said)
        assert answered, said[-4000:]
        yield answered[1]
    finally:
        assert outside("swept.py") == []


def gateway(plan: Plan, connect: Connect) -> tuple[str, str]:
    """Return the gateway port of the only router, and the chassis that has it now; "" for what there is not."""
    # Other ports are bound to a chassis, too, where floating IPs are not distributed.
    port = nbctl(plan, connect, "--bare --columns=name find logical_router_port gateway_chassis!=[]").strip()
    control = connect(plan.edge.hosts[0])
    command = f"ovn-sbctl --no-leader-only --db={SB.socket} --timeout=60"
    chassis = (
        port and root(control, f"{command} --bare --columns=chassis find port_binding logical_port=cr-{port}").strip()
    )
    name = root(control, f"{command} get chassis {chassis} name").strip().strip('"') if chassis else ""
    return port, name


def prefer(plan: Plan, connect: Connect, port: str, ranks: list[str]) -> None:
    """Have the last of these chassis have the gateway port, the one before it when that is lost.

    ``ranks``: every hypervisor, as Neutron gave the port all of them.
    """
    said = nbctl(plan, connect, "--format=csv --no-headings --columns=_uuid,chassis_name,name list gateway_chassis")
    rows = {chassis: row for row, chassis, name in csv.reader(said.splitlines()) if name.startswith(port)}
    assert rows.keys() >= set(ranks), said
    for rank, name in enumerate(ranks, start=1):
        nbctl(plan, connect, f"set gateway_chassis {rows[name]} priority={rank}")


def lose_gateway(plan: Plan, connect: Connect, measure: Measure) -> tuple[Pings, Pings]:
    """Kill the switch of the gateway chassis, which is not the instance's host, then bring it back.

    Its ovn-controller alone would not do: the switch goes on by the flows it has.
    """
    first, *others, home = hypervisors(plan)
    port, _ = gateway(plan, connect)
    prefer(plan, connect, port, [*others, home, first])
    until(lambda: gateway(plan, connect)[1] == first, seconds=FAILOVER)
    with ExitStack() as down:
        with measure("gateway chassis lost", first) as lost:
            down.enter_context(killed(connect(first), _SWITCH, again=_SWITCH_AGAIN))
            until(lambda: gateway(plan, connect)[1] == home, seconds=FAILOVER)
        with measure("gateway chassis back", first) as back:
            down.close()
            until(lambda: gateway(plan, connect)[1] == first, seconds=FAILOVER)
    return lost[0], back[0]
