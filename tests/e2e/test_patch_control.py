"""Control hosts are patched one after the other, killed twice, and nobody who asks notices: inventories/lab-ha.

The package is the test's own; on each control host its unit runs, so each is emptied. None reboots.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.client import Api
from ansible_collections.groundup.cloud.plugins.plugin_utils.patch import journal
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.types import Plan
from ansible_collections.groundup.cloud.tests.e2e.cluster import NODES, etcds, play
from ansible_collections.groundup.cloud.tests.e2e.drilling import killed_when
from ansible_collections.groundup.cloud.tests.e2e.failover import Connect, root
from ansible_collections.groundup.cloud.tests.e2e.patching import NEW, OLD, offering, since, versions
from ansible_collections.groundup.cloud.tests.e2e.test_rolling import WATCH_GAP, probed
from ansible_collections.groundup.cloud.tests.e2e.unavoidable import CUT

pytestmark = [pytest.mark.lab, pytest.mark.long]
# Of the record of a host in maintenance: its services were handed over and packages change; its node takes pods again.
KILLS = ("upgraded", "returned")
# Words of a client that is in the middle of one as the address moves are for a host that does not know the connection.
MOVES = 2.0  # seconds


@pytest.fixture(scope="module")
def control(plan: Plan) -> tuple[str, ...]:
    """The control hosts."""
    if len(plan.edge.hosts) < 3:
        pytest.skip("nobody takes the place of the only control host: see inventories/lab-ha")
    return plan.edge.hosts


@pytest.fixture(scope="module")
def offered(
    plan: Plan, control: tuple[str, ...], connect: Connect, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[None]:
    """The package in its former version on control hosts, the newer one in the snapshot that the site runs."""
    with offering(plan, control, connect, tmp_path_factory.mktemp("packages"), runs=control):
        yield


def recorded(site: str, field: str) -> bool:
    """Return whether a host in maintenance is as far."""
    found = [journal.find(site, name) for name in journal.hosts(site)]
    return any(one and getattr(one, field) for one in found)


@pytest.mark.usefixtures("offered")
def test_control_hosts_are_patched_and_no_request_fails(
    plan: Plan, control: tuple[str, ...], connect: Connect, state: Path
) -> None:
    assert versions(connect, control) == dict.fromkeys(control, OLD)
    before, begun = {name: since(connect, name) for name in control}, time.monotonic()
    with probed(state) as figures:
        for at in KILLS:
            killed_when("patch", seen=partial(recorded, plan.site, at))
        said = play("patch")
    print(json.dumps({"patch of control hosts": {"seconds": round(time.monotonic() - begun)}}))
    api = Api(state / "kubeconfig")
    assert versions(connect, control) == dict.fromkeys(control, NEW), said[-6000:]
    assert {name for name in control if since(connect, name) == before[name]} == set()
    assert journal.hosts(plan.site) == []
    assert not [one for one in api.get(NODES)["items"] if (one.get("spec") or {}).get("unschedulable")]
    assert etcds(api) == {*control}
    for name in control:
        assert root(connect(name), "systemctl is-active keepalived haproxy kubelet").split() == ["active"] * 3
    assert "edge-server-out" not in play("kubernetes", "--tags", "verify")
    watch = figures.pop("watch")
    assert (watch["failed"], watch["gap"] <= WATCH_GAP) == ([], True), watch
    assert figures
    faults = [fault for lane in figures.values() for fault in lane["faults"]]
    print(json.dumps({"open while the virtual IP moved": len(faults)}))
    assert sum(lane["failed"] for lane in figures.values()) == 0
    assert {fault["cause"] for fault in faults} <= CUT
    if faults:  # of one moment: the address moves once
        last = max(fault["at"] for fault in faults)
        assert last - min(fault["at"] + fault["seconds"] for fault in faults) <= MOVES, faults


@pytest.mark.usefixtures("offered")
def test_a_run_again_changes_nothing(plan: Plan) -> None:
    said = play("patch")
    assert f"of {len(plan.hosts)} hosts {len(plan.hosts)} up to date" in said
    assert not re.search(r"changed=[1-9]", said)
