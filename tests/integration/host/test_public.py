"""The virtual IP for users on a network of its own, as HAProxy, keepalived and the kernel serve it."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base import tls
from ansible_collections.groundup.cloud.plugins.module_utils._edge import public
from ansible_collections.groundup.cloud.plugins.module_utils._edge.serve import ALIVE_SCRIPT
from ansible_collections.groundup.cloud.tests.e2e.waiting import until
from ansible_collections.groundup.cloud.tests.integration.host_root import HostRoot, host_root
from ansible_collections.groundup.cloud.tests.unit.certificates import issue
from ansible_collections.groundup.cloud.tests.unit.edge.rendering import KEYSTONE, render

# Of a control host: its addresses and virtual IPs on both networks; one of a pod; a user beyond the router.
OWN, VIP, LEG, USERS, POD, ROUTER, FAR = (
    "10.0.0.11", "10.0.0.2", "192.0.2.11", "192.0.2.2", "10.233.64.9", "192.0.2.1", "203.0.113.7",
)  # fmt: skip
PUBLIC: dict[str, Any] = {
    "address": USERS, "network": "users", "cidr": "192.0.2.0/24", "gateway": ROUTER, "router_id": 3,
}  # fmt: skip
PLACEMENT = {**KEYSTONE, "type": "placement", "name": "placement.lab.test", "clients": (), "internal": True}
ENDPOINTS = ({**KEYSTONE, "internal": False}, PLACEMENT)
# sshd, OVN, etcd, the API server, kubelet, a node port.
LISTENING = (22, 2379, 6444, 6642, 10250, 30500)
_LISTEN = """
import http.server, sys, threading, time
class Answers(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.send_header('Content-Length', '0'); self.end_headers()
for port in sys.argv[1:]:
    server = http.server.ThreadingHTTPServer(('', int(port)), Answers)
    threading.Thread(target=server.serve_forever).start()
"""
_ASK = """
import http.client, socket, ssl, sys
trust = ssl.create_default_context(cafile=sys.argv[1])
for name in sys.argv[4:]:
    raw = socket.create_connection((sys.argv[3], 443), 5, (sys.argv[2], 0))
    client = http.client.HTTPConnection(name)
    client.sock = trust.wrap_socket(raw, server_hostname=name)
    client.request('GET', '/v3/')
    print(client.getresponse().status)
"""


def told(host: HostRoot, command: str) -> str:
    done = host.run(*command.split())
    assert done.returncode == 0, f"{command}: {done.stdout}"
    return done.stdout


@pytest.fixture
def control(tmp_path: Path) -> Iterator[HostRoot]:
    """A control host between operators and users, whose network namespaces have the names of its interfaces."""
    with host_root(tmp_path / "host") as host:
        for name in ("mgmt", "pub", "pods"):
            told(host, f"ip netns add {name}")
            told(host, f"ip link add {name} type veth peer name eth0 netns {name}")
            for command in (f"ip link set {name} up", f"ip -n {name} link set eth0 up", f"ip -n {name} link set lo up"):
                told(host, command)
        for command in (
            f"ip address add {OWN}/24 dev mgmt", "ip -n mgmt address add 10.0.0.1/24 dev eth0",
            "ip route add default via 10.0.0.1",
            f"ip address add {LEG}/24 dev pub", f"ip -n pub address add {ROUTER}/24 dev eth0",
            f"ip -n pub address add {FAR}/32 dev lo", f"ip -n pub route add 10.0.0.0/8 via {LEG}",
            "ip address add 10.233.64.1/24 dev pods", f"ip -n pods address add {POD}/24 dev eth0",
            "ip -n pods route add default via 10.233.64.1",
            "sysctl --quiet --write net.ipv4.ip_forward=1 net.ipv4.ip_nonlocal_bind=1",
            "sysctl --quiet --write net.ipv4.conf.all.rp_filter=1 net.ipv4.conf.pub.rp_filter=1",
        ):  # fmt: skip
            told(host, command)
        host.start("python3", "-c", _LISTEN, *map(str, LISTENING))
        host.start("ip", "netns", "exec", "pods", "python3", "-c", _LISTEN, "8080")
        root = issue("company", ca=True)
        leaf = issue("leaf", root, names=["*.lab.test"])
        for directory in ("run/haproxy", "etc/haproxy/tls", "etc/keepalived"):
            host.at(directory).mkdir(parents=True, exist_ok=True)
        host.at("etc/haproxy/tls/edge.pem").write_text(tls.with_key(leaf.pem, leaf.key))
        host.at("run/ca.pem").write_text(root.pem)
        text = render("haproxy.cfg.j2", control=["control-1"], endpoints=ENDPOINTS, users=PUBLIC)
        host.at("etc/haproxy/haproxy.cfg").write_text(text)
        host.start("haproxy", "-f", "/etc/haproxy/haproxy.cfg")
        keepalived(host, PUBLIC)
        host.start("keepalived", "--dont-fork", "--log-console", "--use-file=/etc/keepalived/keepalived.conf")
        until(lambda: all(one in told(host, "ip address") for one in (f"{VIP}/32", f"{USERS}/32")), seconds=60)
        yield host


def keepalived(host: HostRoot, users: dict[str, Any] | None) -> None:
    """Write keepalived's configuration as the role and the module do."""
    text = render("keepalived.conf.j2", control=["control-1"], users=users)
    for word, filled in (("@PUBLIC_INTERFACE@", "pub"), ("@INTERFACE@", "mgmt"), ("@PASSWORD@", "hush")):
        text = text.replace(word, filled)
    host.at("etc/keepalived/keepalived.conf").write_text(text)


def scanned(host: HostRoot, side: str, source: str, *addresses: str) -> dict[str, dict[str, list[int]]]:
    argv = ["ip", "netns", "exec", side, "python3", "/run/port_scan.py", source, *addresses]
    host.at("run/port_scan.py").write_text((Path(__file__).parent / "port_scan.py").read_text())
    said = host.run(*argv)
    assert said.returncode == 0, said.stdout
    found: dict[str, dict[str, list[int]]] = json.loads(said.stdout.splitlines()[-1])
    return found


def asked(host: HostRoot, side: str, source: str, address: str, *names: str) -> list[int]:
    argv = ["ip", "netns", "exec", side, "python3", "-c", _ASK, "/run/ca.pem", source, address, *names]
    said = host.run(*argv)
    assert said.returncode == 0, said.stdout
    return [int(line) for line in said.stdout.split()]


def test_users_reach_the_public_names_and_nothing_else_by_any_way(control: HostRoot) -> None:
    before = scanned(control, "pub", FAR, USERS)[USERS]["open"]
    assert {*LISTENING, 443} <= set(before), "without the rules everything is there"
    control.at("run/public.nft").write_text(public.rules("pub", USERS))
    told(control, "nft -f /run/public.nft")
    nothing: dict[str, list[int]] = {"open": [], "refused": []}
    assert scanned(control, "pub", FAR, USERS)[USERS] == {"open": [443], "refused": []}
    others = scanned(control, "pub", ROUTER, LEG, OWN, VIP, POD)
    assert others == dict.fromkeys((LEG, OWN, VIP, POD), nothing), "its leg, its other network, and pods behind it"
    inside = scanned(control, "mgmt", "10.0.0.1", VIP, USERS)
    assert {443, 6443} <= set(inside[VIP]["open"]), "operators and hosts have what they had"
    assert inside[USERS]["open"] in ([443], []), "by whatever network somebody comes"


def test_a_user_beyond_the_router_is_answered_by_the_way_he_came_and_finds_what_is_his(control: HostRoot) -> None:
    control.at("run/public.nft").write_text(public.rules("pub", USERS))
    told(control, "nft -f /run/public.nft")
    names = ("identity.lab.test", "placement.lab.test")
    until(lambda: asked(control, "pub", FAR, USERS, names[0]) == [200], seconds=60)
    assert asked(control, "pub", FAR, USERS, *names) == [200, 421], "what no user needs is not there"
    assert asked(control, "mgmt", "10.0.0.1", VIP, *names) == [200, 200]
    assert control.run("ip", "netns", "exec", "pub", "ping", "-c1", "-W2", USERS).returncode == 0


def test_nothing_is_left_when_the_site_has_no_such_network_any_more(control: HostRoot) -> None:
    assert USERS in told(control, "ip rule")
    assert ROUTER in told(control, "ip route show table 143")
    keepalived(control, None)
    told(control, "pkill -HUP -o keepalived")
    until(lambda: USERS not in told(control, "ip address"), seconds=30)
    assert USERS not in told(control, "ip rule")
    assert ROUTER not in control.run("ip", "route", "show", "table", "143").stdout
    assert f"{VIP}/32" in told(control, "ip address"), "the other one stays"


def test_the_rules_are_known_by_what_they_say(control: HostRoot, monkeypatch: pytest.MonkeyPatch) -> None:
    from ansible_collections.groundup.cloud.plugins.module_utils._host import guard

    def attempt(argv: list[str]) -> Any:
        return control.run(*argv)

    monkeypatch.setattr(guard, "attempt", attempt)
    monkeypatch.setattr("shutil.which", lambda _: "/usr/sbin/nft")
    wanted = public.rules("pub", USERS)
    assert not public.GUARD.in_force(wanted)
    control.at("run/public.nft").write_text(wanted)
    told(control, "nft -f /run/public.nft")
    told(control, "nft -f /run/public.nft")
    assert public.GUARD.in_force(wanted)
    assert not public.GUARD.in_force(public.rules("pub1", USERS))
    assert not public.GUARD.in_force(public.rules("pub", "192.0.2.3"))
    told(control, "nft flush ruleset")
    assert not public.GUARD.in_force(wanted)


def test_keepalived_of_several_control_hosts_takes_its_configuration(control: HostRoot) -> None:
    control.at("usr/local/lib/groundup").mkdir(parents=True, exist_ok=True)
    control.at("usr/local/lib/groundup/edge-alive").write_text(ALIVE_SCRIPT)
    control.at("usr/local/lib/groundup/edge-alive").chmod(0o755)
    text = render("keepalived.conf.j2", control=["control-1", "control-2", "control-3"], users=PUBLIC)
    for word, filled in (("@PUBLIC_INTERFACE@", "pub"), ("@INTERFACE@", "mgmt"), ("@PASSWORD@", "hush")):
        text = text.replace(word, filled)
    control.at("run/several.conf").write_text(text)
    checked = control.run("keepalived", "--config-test", "--use-file=/run/several.conf")
    assert checked.returncode == 0, checked.stdout


def test_each_virtual_ip_goes_its_own_way_to_another_control_host(tmp_path: Path) -> None:
    names = ["control-1", "control-2"]
    with host_root(tmp_path / "one") as one, host_root(tmp_path / "two") as two:
        hosts = dict(zip(names, (one, two), strict=True))
        ends = [f"name mgmt netns {host.pid}" for host in hosts.values()]
        subprocess.run(f"ip link add {ends[0]} type veth peer {ends[1]}".split(), check=True)
        for number, (name, host) in enumerate(hosts.items(), start=11):
            for command in (
                "ip link add pub type veth peer name wire", "ip link set wire up",
                "ip link set mgmt up", "ip link set pub up",
                f"ip address add 10.0.0.{number}/24 dev mgmt", f"ip address add 192.0.2.{number}/24 dev pub",
                "sysctl --quiet --write net.ipv4.ip_nonlocal_bind=1",
            ):  # fmt: skip
                told(host, command)
            for directory in ("run/haproxy", "usr/local/lib/groundup", "etc/keepalived"):
                host.at(directory).mkdir(parents=True, exist_ok=True)
            host.at("usr/local/lib/groundup/edge-alive").write_text(ALIVE_SCRIPT)
            host.at("usr/local/lib/groundup/edge-alive").chmod(0o755)
            host.at("etc/haproxy/haproxy.cfg").write_text(render("haproxy.cfg.j2", control=names, public=False))
            host.start("haproxy", "-f", "/etc/haproxy/haproxy.cfg")
            text = render("keepalived.conf.j2", control=names, host=name, users=PUBLIC | {"gateway": None})
            for word, filled in (("@PUBLIC_INTERFACE@", "pub"), ("@INTERFACE@", "mgmt"), ("@PASSWORD@", "hush")):
                text = text.replace(word, filled)
            host.at("etc/keepalived/keepalived.conf").write_text(text)
            host.start("keepalived", "--dont-fork", "--log-console", "--use-file=/etc/keepalived/keepalived.conf")

        def holders(address: str) -> list[str]:
            return [name for name, host in hosts.items() if f"{address}/32" in told(host, "ip address")]

        until(lambda: len(holders(USERS)) == len(holders(VIP)) == 1, seconds=60)
        (first,) = holders(USERS)
        (other,) = set(names) - {first}
        before = holders(VIP)
        told(hosts[first], "ip link set pub down")
        until(lambda: holders(USERS) == [other], seconds=60)
        assert holders(VIP) == before, "hosts and the cluster notice nothing"
