"""The network of a machine by systemd-networkd: converged, left alone, and given back when a change cuts it off.

One plain Debian 13 with two ports: the first is the controller's way in, the second ends on the same bridge. This
machine's kernel has neither bonds nor VLANs: bridges, MTUs, addresses and routes are real here.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.groundup.cloud.plugins.module_utils._container.names import link_name
from ansible_collections.groundup.cloud.tests.e2e.plain import LAN, NETWORK, NIC

pytestmark = [pytest.mark.lab, pytest.mark.skipif(os.geteuid() != 0, reason="making hosts needs root")]

ROOT = Path(__file__).resolve().parents[2]
(MACHINE,) = NETWORK.machines
SECOND = "enp2s0"
VIRTUAL = "10.87.15.2/32"  # of somebody else, as keepalived's is
MARKS = "/var/lib/groundup/network"
SECONDS = 45  # until a change is taken back: a loaded machine confirms one in less
PLAY = [
    {
        "hosts": "managed_network",
        "gather_facts": False,
        "tasks": [{"import_role": {"name": "groundup.cloud.host", "tasks_from": "network"}}],
    }
]


def site(*, wiring: dict[str, Any], storage: dict[str, Any] | None = None) -> dict[str, Any]:
    node = {
        "roles": ["seed", "control", "worker"], "names": ["node-1"], "rack": "r1", "provisioner": "existing",
        "manage_network": True, "wiring": wiring, "machines": {"node-1": {"address": MACHINE.address}},
    }  # fmt: skip
    return {
        "plugin": "groundup.cloud.site", "site": NETWORK.name, "domain": "network.test", "profile": "lab",
        "networks": {
            "management": {"cidr": "10.87.15.0/24"},
            "storage": storage or {"cidr": "10.87.16.0/24", "mtu": 1400},
        },
        "machines": {"node": node}, "access": {"user": "ops"}, "openstack": {"services": []},
    }  # fmt: skip


PORTS = site(wiring={"networks": {"management": NIC, "storage": SECOND}})
SWAPPED = site(wiring={"networks": {"management": SECOND, "storage": NIC}})
BRIDGED = site(
    wiring={"bridges": {"br0": {"members": [SECOND]}}, "networks": {"management": NIC, "storage": "br0"}},
    storage={"cidr": "10.87.16.0/23", "racks": {"r1": {"cidr": "10.87.17.0/24"}}},
)


def shell(command: str) -> str:
    return NETWORK.run(MACHINE, "sh", "-c", command)


def marks() -> list[str]:
    """Return the files of the change under way. A run makes their directory anew: for a moment there is none."""
    return shell(f"if cd {MARKS}; then ls; fi").split()


def addresses(port: str) -> list[str]:
    (link,) = json.loads(shell(f"ip -json address show dev {port}"))
    return [f"{one['local']}/{one['prefixlen']}" for one in link["addr_info"] if one["family"] == "inet"]


def wait(done: Callable[[], object]) -> None:
    end = time.monotonic() + 180
    while not done():
        assert time.monotonic() < end, "it did not come about"
        time.sleep(0.5)


@pytest.fixture(scope="module", autouse=True)
def machine() -> Iterator[None]:
    """The machine, with a second port, and networkd as any Debian has it."""
    NETWORK.install()
    outer = link_name(NETWORK.name, MACHINE.name, SECOND)
    steps = (
        f"ip link add {outer} type veth peer name {SECOND} netns {NETWORK.lab.id(MACHINE.name)}",
        f"ip link set {outer} master {link_name(NETWORK.name, LAN)} up",
    )
    for step in steps:
        subprocess.run(step.split(), check=True)
    # Lab hosts have it masked. Where /sys can be written, networkd waits for udev, which no container has.
    shell("rm -f /etc/systemd/system/systemd-networkd*; systemctl daemon-reload; mount -o remount,bind,ro /sys")
    known = NETWORK.home / "ssh/known_hosts"
    known.parent.mkdir(exist_ok=True)
    known.write_text(f"{MACHINE.address} {NETWORK.host_key(MACHINE)}\n")
    (NETWORK.home / "play.json").write_text(json.dumps(PLAY))
    yield
    NETWORK.destroy()


def command(wanted: dict[str, Any], *more: str) -> list[str]:
    file = NETWORK.home / "site.yml"
    file.write_text(yaml.safe_dump(wanted))
    own = {"ansible_ssh_private_key_file": str(NETWORK.operator_key), "host_network_seconds": SECONDS}
    return [
        str(ROOT / "ci/run"), "ansible-playbook", "-i", str(file), str(NETWORK.home / "play.json"),
        "-e", json.dumps(own), *more,
    ]  # fmt: skip


def run(wanted: dict[str, Any], *more: str, status: int = 0) -> str:
    done = subprocess.run(command(wanted, *more), check=False, capture_output=True, text=True, timeout=600)
    print(done.stdout[-3000:], done.stderr[-2000:])
    assert done.returncode == status
    return " ".join((done.stdout + done.stderr).split())


def test_a_prediction_shows_the_files_and_writes_none() -> None:
    said = run(PORTS, "--check", "--diff")
    assert "changed=1" in said
    assert f"+Address={MACHINE.address}/24" in said
    assert shell("ls /etc/systemd/network") == ""
    assert addresses(SECOND) == []


def test_the_network_is_taken_over_without_a_word_of_the_former_one_lost() -> None:
    assert "changed=1" in run(PORTS)
    assert addresses(NIC) == [f"{MACHINE.address}/24"]
    assert len(addresses(SECOND)) == 1
    assert "mtu 1400" in shell(f"ip link show dev {SECOND}")
    assert "via 10.87.15.1" in shell("ip route show default")
    assert shell("systemctl is-enabled systemd-networkd").strip() == "enabled"
    assert "confirmed" in marks()
    assert "pending" not in marks()


def test_what_is_as_planned_is_left_alone() -> None:
    for more in ((), ("--check",)):
        said = run(PORTS, *more)
        assert "changed=0" in said
        assert "WARNING" not in said


def test_a_network_moves_to_a_bridge_and_back_and_another_s_address_stays() -> None:
    shell(f"ip address add {VIRTUAL} dev {NIC}")
    assert "changed=1" in run(BRIDGED)
    assert addresses("br0")[0].startswith("10.87.17.")
    assert addresses(SECOND) == []
    assert "10.87.16.0/23 via 10.87.17.1 dev br0" in shell("ip route")
    assert VIRTUAL in addresses(NIC)
    assert "changed=1" in run(PORTS)
    assert "br0" not in shell("ip -brief link")
    assert addresses(SECOND)[0].startswith("10.87.16.")
    assert VIRTUAL in addresses(NIC)


def test_a_change_that_cuts_the_controller_off_is_taken_back_by_itself() -> None:
    files = shell("cat /etc/systemd/network/*")
    outer = link_name(NETWORK.name, MACHINE.name, SECOND)
    subprocess.run(["ip", "link", "set", outer, "nomaster"], check=True)  # its cable ends nowhere
    answers = Path(f"/proc/sys/net/ipv4/conf/{outer}/arp_ignore")
    answers.write_text("8")  # without it, this machine would answer there for its address on the bridge
    try:
        began = time.monotonic()
        said = run(SWAPPED, status=2)  # a control host: the run goes on to no other
        assert time.monotonic() - began < SECONDS + 240, "it ends soon after the host is back"
    finally:
        answers.write_text("0")
        subprocess.run(["ip", "link", "set", outer, "master", link_name(NETWORK.name, LAN)], check=True)
    assert "was taken back: nobody confirmed it within" in said, said[-900:]
    assert shell("cat /etc/systemd/network/*") == files
    assert f"{MACHINE.address}/24" in addresses(NIC)
    wait(lambda: [one for one in addresses(SECOND) if one.startswith("10.87.16.")])  # networkd's, once it has a carrier
    said = run(PORTS)
    assert "the last change of this host's network was taken back: nobody confirmed it" in said
    assert "changed=0" in said


def test_a_killed_run_leaves_the_former_network_and_the_next_says_so() -> None:
    files = shell("cat /etc/systemd/network/*")
    process = subprocess.Popen(command(BRIDGED), start_new_session=True, stdout=subprocess.DEVNULL)
    wait(lambda: "pending" in marks())
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    wait(lambda: "taken-back" in marks())
    assert shell("cat /etc/systemd/network/*") == files
    assert "was taken back" in run(PORTS)


def test_a_restart_before_the_confirmation_begins_with_the_former_files() -> None:
    files = shell("cat /etc/systemd/network/*")
    with subprocess.Popen(command(BRIDGED), start_new_session=True, stdout=subprocess.DEVNULL) as process:
        wait(lambda: "pending" in marks())
        os.killpg(process.pid, signal.SIGKILL)
    wait(lambda: "applied" in marks())
    assert shell("cat /etc/systemd/network/*") != files
    shell("systemctl start groundup-network-guard.service")  # as a boot does, before networkd
    assert shell("cat /etc/systemd/network/*") == files
    assert "was restarted before" in shell(f"cat {MARKS}/taken-back")
    shell("networkctl reload")


def test_a_network_with_another_owner_is_refused() -> None:
    shell(f"mkdir -p /etc/network; printf 'iface {NIC} inet dhcp\\n' > /etc/network/interfaces")
    said = run(BRIDGED, status=2)
    assert "is run by ifupdown" in said
    assert "comment out all but lo" in said
    shell("rm /etc/network/interfaces")


def test_a_port_that_is_not_there_is_refused_before_anything_changes() -> None:
    said = run(site(wiring={"networks": {"management": "enp9s0", "storage": SECOND}}), status=2)
    assert "the host has no port enp9s0" in said
    assert f"{MACHINE.address}/24" in addresses(NIC)
