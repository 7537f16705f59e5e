"""Ceph loses a daemon or a host's network while a client writes: nothing written is lost, and it becomes whole again.

Needs tests/e2e/storage/site.yml. Each case prints a line of JSON: blocks written, the slowest, seconds until HEALTH_OK.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._plan.ceph import CephPlan
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.types import Plan
from ansible_collections.groundup.cloud.tests.e2e.cluster import play
from ansible_collections.groundup.cloud.tests.e2e.failover import Connect, killed, root
from ansible_collections.groundup.cloud.tests.e2e.waiting import until
from ansible_collections.groundup.cloud.tests.e2e.writing import Writer, listed, over_ssh, writing

pytestmark = pytest.mark.lab

Ask = Callable[..., Any]
Write = Callable[[str, str], AbstractContextManager[Writer]]
BLOCKS = 20  # of 64 KiB: enough to see that writes go on


@pytest.fixture(scope="module")
def ceph(plan: Plan) -> CephPlan:
    """The plan's Ceph."""
    if not plan.ceph or len(plan.ceph.monitors) < 3:
        pytest.skip("three monitors are needed: see tests/e2e/storage/site.yml")
    return plan.ceph


@pytest.fixture(scope="module")
def ask(ceph: CephPlan, connect: Connect) -> Ask:
    """Return a function that asks the monitors something, from a host of one of them."""

    def run(command: str, *, on: str = "") -> Any:
        return json.loads(
            root(connect(on or ceph.monitors[0].name), f"ceph --connect-timeout 60 --format json {command}")
        )

    return run


def healthy(ask: Ask, on: str) -> bool:
    """Say whether everything is whole, in Ceph's own words."""
    found = ask("status", on=on)
    states = [one["state_name"] for one in found["pgmap"]["pgs_by_state"]]  # a group that is scrubbed is clean, too
    return found["health"]["status"] == "HEALTH_OK" and all(one.startswith("active+clean") for one in states)


def test_the_cluster_is_the_plans(ceph: CephPlan, ask: Ask) -> None:
    assert healthy(ask, ceph.monitors[0].name)
    assert ask("fsid")["fsid"] == ceph.fsid
    assert set(ask("quorum_status")["quorum_names"]) == {one.name for one in ceph.monitors}
    pools = {one["pool_name"]: one for one in ask("osd pool ls detail")}
    assert {name: pools[name]["pg_num"] for name in pools if name != ".mgr"} == {
        pool.name: pool.pg_num for pool in ceph.pools.values()
    }
    assert {pool["pg_autoscale_mode"] for pool in pools.values()} == {"off"}


@pytest.fixture
def write(ceph: CephPlan, plan: Plan, stored: Mapping[str, str], ssh_config: Path) -> Write:
    """Return a context that writes to a volume as Cinder, from a host."""

    def begin(host: str, image: str) -> AbstractContextManager[Writer]:
        cinder = ceph.clients["cinder"]
        given = {"name": cinder.name, "key": stored[cinder.secret], "mon_host": ceph.mon_host, "pool": cinder.writes[0]}
        return writing(over_ssh(ssh_config, plan.hosts[host].address), {**given, "image": image})

    return begin


@pytest.fixture
def sees(ceph: CephPlan, plan: Plan, stored: Mapping[str, str], ssh_config: Path) -> set[str]:
    """Return the pools whose images Glance's key lists."""
    glance, host = ceph.clients["glance"], ceph.monitors[0].name
    given = {"name": glance.name, "key": stored[glance.secret], "mon_host": ceph.mon_host}
    pools = [pool.name for pool in ceph.pools.values()]
    found = listed(over_ssh(ssh_config, plan.hosts[host].address), {"pools": pools, **given})
    return {pool for pool, images in found.items() if images is not None}


def test_a_service_sees_no_pool_of_another(ceph: CephPlan, sees: set[str]) -> None:
    assert sees == set(ceph.clients["glance"].writes)


@pytest.mark.parametrize("what", ["osd", "monitor"])
def test_a_killed_daemon_costs_no_block_that_was_written(
    *, what: str, ceph: CephPlan, connect: Connect, ask: Ask, write: Write, capfd: pytest.CaptureFixture[str]
) -> None:
    leads = ask("quorum_status")["quorum_leader_name"]
    host = leads if what == "monitor" else ceph.monitors[-1].name
    other = next(one.name for one in ceph.monitors if one.name != host)
    number = ask("osd ls-tree " + host)[0]
    unit = f"ceph-mon@{host}.service" if what == "monitor" else f"ceph-osd@{number}.service"

    def noticed() -> bool:
        if what == "monitor":
            return host not in ask("quorum_status", on=other)["quorum_names"]
        return not next(one for one in ask("osd dump", on=other)["osds"] if one["osd"] == number)["up"]

    with write(other, f"kept-{what}") as writer:
        writer.more(BLOCKS)
        with killed(connect(host), unit, again=unit):
            until(noticed, seconds=60)
            writer.more(BLOCKS)  # without it
            again = time.monotonic()
        until(lambda: healthy(ask, other), seconds=180)
        whole = time.monotonic() - again
        writer.more(BLOCKS)
        writer.end()
    with capfd.disabled():
        print(f"\n{_line(f'{what} killed', host, writer, whole)}", flush=True)
    assert writer.lost == 0


@contextmanager
def cut(host: Any, network: str) -> Iterator[None]:
    """Drop all that a host sends to a network, or gets from it, while the block runs. Nobody is told."""
    rules = (
        f'chain in {{ type filter hook input priority -300; iifname != "lo" ip saddr {network} drop; }}; '
        f'chain out {{ type filter hook output priority -300; oifname != "lo" ip daddr {network} drop; }}'
    )
    root(host, f"nft 'table inet cut {{ {rules}; }}'")
    try:
        yield
    finally:
        root(host, "nft delete table inet cut")


def test_a_host_whose_storage_network_is_cut_costs_no_block_and_has_a_card(
    *, ceph: CephPlan, plan: Plan, connect: Connect, ask: Ask, write: Write, capfd: pytest.CaptureFixture[str]
) -> None:
    host, other = ceph.monitors[-1].name, ceph.monitors[0].name  # the other one is asked by a run

    def noticed() -> bool:
        return {"MON_DOWN", "OSD_HOST_DOWN"} <= set(ask("health", on=other)["checks"])

    with write(other, "kept-network") as writer:
        writer.more(BLOCKS)
        with cut(connect(host), plan.networks["storage"].cidr):
            until(noticed, seconds=120)
            writer.more(BLOCKS)
            said = play("storage", "--tags", "verify", code=2, storage_timeout=15)
            again = time.monotonic()
        until(lambda: healthy(ask, other), seconds=180)
        whole = time.monotonic() - again
        writer.more(BLOCKS)
        writer.end()
    with capfd.disabled():
        print(f"\n{_line('network cut', host, writer, whole)}", flush=True)
    assert writer.lost == 0
    assert re.search(rf"MON_DOWN: .*(.|\n)*mon\.{host}", said), said[-4000:]
    assert re.search(rf"OSD_HOST_DOWN: .*(.|\n)*host {host}(.|\n)*its network `storage`", said), said[-4000:]


def _line(what: str, host: str, writer: Writer, whole: float) -> str:
    said = {"case": what, "host": host, "blocks": writer.blocks, "lost": writer.lost}
    return json.dumps({**said, "slowest": writer.slowest, "seconds to HEALTH_OK": round(whole, 1)})
