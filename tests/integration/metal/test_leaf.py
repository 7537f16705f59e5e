"""Machines of another rack boot from the network, really: a router relays what they ask, and leads back.

The seed's cable ends at that router; behind it is a segment of its own, with a machine.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base.wait import wait_until
from ansible_collections.groundup.cloud.plugins.module_utils._ironic import netboot, rogue
from ansible_collections.groundup.cloud.tests.integration.host_root import HostRoot
from ansible_collections.groundup.cloud.tests.integration.metal.test_plane import (
    NETWORK,
    OTHER,
    PLANE,
    ask,
    plane,
    serve,
    verified,
    wire,
)

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="a seed's programs run as root")
ROUTER, LEAF, KNOWN = "10.77.2.72", "10.77.3.254", "52:54:00:00:00:31"
LEAVES = {
    "plane": "10.77.2.0/23", "gateway": ROUTER,
    "leaves": [{"rack": "r2", "cidr": "10.77.3.0/24", "gateway": LEAF, "pool": ["10.77.3.224", "10.77.3.253"]}],
}  # fmt: skip
# What a machine is offered, as far as its boot needs it.
_OFFERED = (
    '{"address": answer[BOOTP].yiaddr, "server": answer[BOOTP].siaddr, '
    '"file": answer[BOOTP].file.rstrip(b"\\0").decode(), '
    "**{o[0]: str(o[1]) for o in answer[DHCP].options if isinstance(o, tuple)}}"
)


@pytest.fixture(scope="module")
def seed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HostRoot]:
    with plane(tmp_path_factory.mktemp("leaf")) as host:
        wire(host, "prov0", PLANE, ROUTER)
        for words in (
            "link add leaf netns prov0 type veth peer name far netns r2",
            f"-n prov0 address add {LEAF}/24 dev leaf",
            "-n prov0 link set leaf up",
            "-n r2 link set far up",
            "-n r2 link set lo up",
        ):
            if "netns r2" in words:
                assert host.run("ip", "netns", "add", "r2").returncode == 0
            done = host.run("ip", *words.split())
            assert done.returncode == 0, f"{words}: {done.stdout}"
        host.run("ip", "netns", "exec", "prov0", "sh", "-c", "echo 1 > /proc/sys/net/ipv4/ip_forward")
        known = [{"mac": KNOWN, "address": "10.77.3.72", "name": "worker-9"}]
        serve(host, NETWORK | LEAVES, addresses=known)
        relay = (str(netboot.PROGRAMS / "dnsmasq"), "--keep-in-foreground", "--conf-file=/dev/null", "--user=root")
        more = ("--port=0", f"--dhcp-relay={LEAF},{PLANE}", "--pid-file=/tmp/relay.pid")
        host.start("ip", "netns", "exec", "prov0", "env", f"LD_LIBRARY_PATH={netboot.PROGRAMS}/lib", *relay, *more)
        yield host


def offered(seed: HostRoot, mac: str) -> dict[str, Any]:
    """Return what the machine behind the router is offered; it asks until it is."""
    program = rogue._ASK.replace("[answer[IP].src, answer[Ether].src]", _OFFERED)
    place = f"PYTHONPATH={netboot.PROGRAMS}/python"
    found: list[dict[str, Any]] = []

    def silent() -> str:
        argv = ("ip", "netns", "exec", "r2", "env", place, "python3", "-c", program, "far", mac, "3")
        done = seed.run(*argv)
        assert done.returncode == 0, done.stdout
        found.extend(json.loads(done.stdout.splitlines()[-1]))
        return "" if found else "no offer"

    assert not wait_until(silent, timeout=180)
    return found[0]


def test_verification_says_that_the_way_back_is_missing_and_that_it_is_there(seed: HostRoot) -> None:
    done = verified(seed, network=LEAVES)
    assert f"the router of rack r2, {LEAF}, is reached by no interface, not by prov0" in done.stdout
    assert f"ip route add 10.77.2.0/23 via {ROUTER} dev prov0" in done.stdout
    assert seed.run("ip", "route", "add", "10.77.2.0/23", "via", ROUTER).returncode == 0
    done = verified(seed, network=LEAVES)
    assert done.returncode == 0, done.stdout


def test_a_machine_behind_a_router_is_lent_an_address_of_its_rack_and_its_ways_are_by_that_router(
    seed: HostRoot,
) -> None:
    found = offered(seed, "52:54:00:00:00:32")
    assert 224 <= int(found["address"].removeprefix("10.77.3.")) <= 253
    assert (found["subnet_mask"], found["router"]) == ("255.255.255.0", LEAF)
    assert (found["server"], found["file"]) == (PLANE, "undionly.kpxe")
    assert (found["name_server"], found["NTP_server"]) == (PLANE, PLANE)
    assert LEAF in found["classless_static_routes"]
    assert OTHER not in found["classless_static_routes"], "the seed is no next hop of that segment"


def test_a_known_machine_behind_a_router_has_its_planned_address(seed: HostRoot) -> None:
    assert offered(seed, KNOWN)["address"] == "10.77.3.72"


def test_a_machine_behind_a_router_fetches_and_is_told_names_and_time(seed: HostRoot) -> None:
    for words in ("address add 10.77.3.72/24 dev far", f"route add default via {LEAF}"):
        seed.run("ip", "-n", "r2", *words.split())
    seed.run("ip", "route", "replace", "10.77.2.0/23", "via", ROUTER)
    assert ask(seed, "r2", PLANE, "registry.lab.test") == f"0 {OTHER}"
    assert int(ask(seed, "r2", PLANE, "time"))
    fetch = ("curl", "--silent", "--max-time", "120", "--output", "/tmp/ipxe", f"tftp://{PLANE}/undionly.kpxe")  # noqa: S108  # of the host
    assert seed.run("ip", "netns", "exec", "r2", *fetch).returncode == 0
    fetched = seed.at("/tmp/ipxe").read_bytes()  # noqa: S108  # of the host
    assert fetched == seed.at(netboot.PROGRAMS / "undionly.kpxe").read_bytes()
