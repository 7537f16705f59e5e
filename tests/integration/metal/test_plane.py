"""The network provisioning as it is served, really: names and time for its machines, and nothing for another network.

The seed has a cable to each of two networks; a machine at the end of each asks.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base.wait import wait_until
from ansible_collections.groundup.cloud.plugins.module_utils._ironic import netboot, rogue
from ansible_collections.groundup.cloud.plugins.plugin_utils import supply
from ansible_collections.groundup.cloud.tests.integration.host_root import HostRoot, host_root
from ansible_collections.groundup.cloud.tests.integration.metal.test_netboot import place_modules

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="a seed's programs run as root")
PLANE, OTHER = "10.77.2.8", "10.77.0.8"
NETWORK: dict[str, Any] = {
    "address": PLANE, "seed_address": OTHER, "cidr": "10.77.2.0/24", "gateway": None,
    "pool": ["10.77.2.224", "10.77.2.254"],
    "url": f"http://{PLANE}:6387", "port": 6387, "domain": "lab.test", "names": {"registry.lab.test": OTHER},
    "dns_servers": [], "ntp_servers": [],
}  # fmt: skip
# What the seed's own verification does; and a client of NTP and DNS, on a machine with nothing but Python.
ANSWERS = """
import json, sys
from ansible_collections.groundup.cloud.plugins.module_utils._ironic import boot_service
boot_service.START = float(sys.argv[1])
boot_service.rogue.WAIT = float(sys.argv[2])
boot_service.answers({"address": "ADDRESS", **json.loads(sys.argv[3])}, domain="lab.test")
""".replace("ADDRESS", PLANE)
ASK = """
import socket, struct, sys
asking = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
asking.settimeout(float((*sys.argv, 60)[3]))
if sys.argv[2] == "time":
    asking.sendto(b"\\x23" + bytes(47), (sys.argv[1], 123))
    answer = asking.recv(512)
    print(struct.unpack(">I", answer[40:44])[0] - 2208988800)
else:
    labels = b"".join(bytes([len(one)]) + one.encode() for one in sys.argv[2].split(".")) + b"\\0"
    asking.sendto(struct.pack(">6H", 7, 0x0100, 1, 0, 0, 0) + labels + struct.pack(">2H", 1, 1), (sys.argv[1], 53))
    answer = asking.recv(512)
    print(answer[3] & 15, socket.inet_ntoa(answer[-4:]) if answer[7] else "")
"""


@contextmanager
def plane(room: Path) -> Iterator[HostRoot]:
    """Give a seed that has our modules, and nothing of the plane yet."""
    if supply.missing(["netboot-13"]):
        pytest.skip("not built on this machine: netboot-13")
    with host_root(room) as host:
        place_modules(host)
        yield host


@pytest.fixture(scope="module")
def seed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HostRoot]:
    with plane(tmp_path_factory.mktemp("plane")) as host:
        for name, address, peer in (("prov0", PLANE, "10.77.2.72"), ("mgmt0", OTHER, "10.77.0.72")):
            wire(host, name, address, peer)
        serve(host, NETWORK)
        done = verified(host)
        assert done.returncode == 0, done.stdout
        yield host


def wire(host: HostRoot, name: str, address: str, peer: str) -> None:
    """Give the seed a port, and put a machine, a network namespace of the seed's, at the other end."""
    for words in (
        f"netns add {name}",
        f"link add {name} type veth peer name far netns {name}",
        f"address add {address}/24 dev {name}",
        f"link set {name} up",
        f"-n {name} address add {peer}/24 dev far",
        f"-n {name} link set far up",
        f"-n {name} route add default via {address}",
    ):
        done = host.run("ip", *words.split())
        assert done.returncode == 0, f"{words}: {done.stdout}"


def serve(host: HostRoot, network: Mapping[str, Any], *, addresses: Sequence[Mapping[str, str]] = ()) -> None:
    """Lay out what the role does and start what its units start, as their account."""
    archive = supply.ensure(["netboot-13"])["netboot-13"].path / "netboot.tar.gz"
    for path in (netboot.PROGRAMS, netboot.STATE, netboot.DIRECTORY):
        host.at(path).mkdir(parents=True)
    subprocess.run(["tar", "-xzf", archive, "--no-same-owner", "-C", host.at(netboot.PROGRAMS)], check=True)
    host.run("useradd", "--system", "--user-group", netboot.ACCOUNT)
    host.run("chown", netboot.ACCOUNT, str(netboot.STATE))
    found = netboot.values(network, interface="prov0", api_url=f"https://{OTHER}:6385", addresses=addresses)
    texts = {**netboot.texts(found), **netboot.clock_texts(found)}
    for path, text in texts.items():
        host.at(path).write_text(text)
    for unit, rights in (
        (netboot.UNIT, "net_admin,+net_bind_service,+net_raw"),
        (netboot.CLOCK_UNIT, "net_bind_service"),
    ):
        command = next(line for line in texts[unit].splitlines() if line.startswith("ExecStart=")).partition("=")[2]
        own = ("--reuid", netboot.ACCOUNT, "--regid", netboot.ACCOUNT, "--clear-groups")
        caps = ("--inh-caps", f"-all,+{rights}", "--ambient-caps", f"-all,+{rights}")
        host.start("setpriv", *own, *caps, "env", f"LD_LIBRARY_PATH={netboot.PROGRAMS}/lib", *command.split())


def ask(seed: HostRoot, machine: str, server: str, what: str, *, seconds: float = 60.0) -> str:
    """Return what a machine is answered; "" for no answer within ``seconds``."""
    done = seed.run("ip", "netns", "exec", machine, "python3", "-c", ASK, server, what, str(seconds))
    return done.stdout.strip() if done.returncode == 0 else ""


def verified(
    seed: HostRoot, *, seconds: float = 120, listens: float = 0.1, network: Mapping[str, Any] | None = None
) -> subprocess.CompletedProcess[str]:
    """Have the seed verify what it serves, and listen for other servers so long."""
    words = (str(seconds), str(listens), json.dumps(network or {}))
    return seed.run("env", "PYTHONPATH=/tmp", "python3", "-c", ANSWERS, *words)


def test_a_machine_that_asks_for_an_address_is_told_of_both(seed: HostRoot) -> None:
    wanted = '{o[0]: o[1] for o in answer[DHCP].options if o[0] in ("name_server", "NTP_server")}'
    asked = rogue._ASK.replace("[answer[IP].src, answer[Ether].src]", wanted)
    place = f"PYTHONPATH={netboot.PROGRAMS}/python"
    argv = ("ip", "netns", "exec", "prov0", "env", place, "python3", "-c", asked, "far", "52:54:00:00:00:77", "3")
    offers: list[dict[str, str]] = []

    def silent() -> bool:
        offers.extend(json.loads(seed.run(*argv).stdout.splitlines()[-1]))
        return not offers

    assert not wait_until(silent, timeout=180)
    assert [(told["name_server"], told["NTP_server"]) for told in offers] == [(PLANE, PLANE)]


def test_a_machine_on_the_network_is_told_names_of_the_site_and_the_time(seed: HostRoot) -> None:
    assert ask(seed, "prov0", PLANE, "registry.lab.test") == f"0 {OTHER}"
    assert ask(seed, "prov0", PLANE, "nobody.lab.test") == "3", "no other is asked about the site's domain"
    assert ask(seed, "prov0", PLANE, "example.org") == "5", "refused: the site names no resolver"
    told = int(ask(seed, "prov0", PLANE, "time"))
    now = int(seed.run("date", "+%s").stdout)
    assert abs(told - now) <= 60


@pytest.mark.parametrize("server", [PLANE, OTHER])
@pytest.mark.parametrize("what", ["registry.lab.test", "time"])
def test_a_machine_on_another_network_is_answered_by_neither_address(seed: HostRoot, server: str, what: str) -> None:
    assert ask(seed, "mgmt0", server, what, seconds=1.5) == ""


@pytest.mark.parametrize(
    "path",
    ["../../../etc/shadow", "..//..//..//etc/shadow", "/etc/shadow", "../netboot/../../../etc/shadow", "lib/../../x"],
)
def test_nothing_but_ipxe_is_given_by_tftp(seed: HostRoot, path: str) -> None:
    seed.at("/opt/groundup/x").write_text("secret")
    asks = ("ip", "netns", "exec", "prov0", "curl", "--silent", "--path-as-is", "--max-time", "20")
    assert "root:" not in seed.run(*asks, f"tftp://{PLANE}/{path}").stdout
    assert seed.run(*asks, f"tftp://{PLANE}/{path}").returncode != 0
    assert seed.run(*asks, "--output", "/dev/null", f"tftp://{PLANE}/snponly.efi").returncode == 0


def test_another_dhcp_server_is_named_by_address_and_mac(seed: HostRoot) -> None:
    """It is at the other end of the cable, beside the machine that asks."""
    conf = "interface=far\nbind-dynamic\nno-ping\nport=0\ndhcp-range=10.77.2.80,10.77.2.90,2m\n"
    seed.at("/tmp/rogue.conf").write_text(conf)  # noqa: S108  # of the host
    mac = seed.run("ip", "-n", "prov0", "-o", "link", "show", "far").stdout.split("link/ether ")[1].split()[0]
    dnsmasq = (str(netboot.PROGRAMS / "dnsmasq"), "--keep-in-foreground", "--conf-file=/tmp/rogue.conf", "--user=root")
    argv = ("--dhcp-leasefile=/tmp/rogue.leases", "--pid-file=/tmp/rogue.pid")
    libraries = f"LD_LIBRARY_PATH={netboot.PROGRAMS}/lib"
    seed.start("ip", "netns", "exec", "prov0", "env", libraries, *dnsmasq, *argv)
    pid = seed.at("/tmp/rogue.pid")  # noqa: S108  # of the host
    assert not wait_until(lambda: not pid.exists(), timeout=120)
    other = f"another DHCP server answers: 10.77.2.72 ({mac})"
    assert not wait_until(lambda: other not in verified(seed, listens=4).stdout, timeout=180)
    seed.run("kill", pid.read_text().strip())
    assert not wait_until(pid.exists, timeout=120)
    done = verified(seed)
    assert done.returncode == 0, done.stdout


def test_a_service_that_has_ended_is_named(seed: HostRoot) -> None:
    pid = seed.run("pgrep", "-f", "chronyd -d").stdout.split()
    seed.run("kill", *pid)
    assert not wait_until(lambda: seed.run("pgrep", "-f", "chronyd -d").stdout, timeout=120)
    done = verified(seed, seconds=5)
    assert f"nobody tells the time at {PLANE}" in done.stdout
