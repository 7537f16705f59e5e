"""The seed's Ironic, really, on a loopback: from a dark machine to its boot, and with `long` to an installed system."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base.wait import wait_until
from ansible_collections.groundup.cloud.plugins.module_utils._host import networkd
from ansible_collections.groundup.cloud.plugins.module_utils._ironic import configuration
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.journal import Journal
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.provision import Deployment, provision
from ansible_collections.groundup.cloud.plugins.plugin_utils.paths import COLLECTION
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.part_types import LinkPlan
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.cache.artifact import file_digest
from ansible_collections.groundup.cloud.tests.integration.metal.ironic import (
    GUEST,
    MAC,
    SEED,
    UUID,
    WANTED,
    Loopback,
    loopback,
)
from ansible_collections.groundup.cloud.tests.rack.machine import USER
from ansible_collections.groundup.cloud.tests.unit.metal.inventories import told

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="a seed's programs run as root")
# A bond of one port, which needs no word of a switch, and a VLAN on it.
LINKS = (
    LinkPlan(name="nic1", kind="port", mtu=1500, mac=MAC, rename=True),
    LinkPlan(
        name="bond0", kind="bond", mtu=1500, mac=MAC, members=("nic1",), mode="active-backup", primary="nic1",
        network="management", address=f"{GUEST}/24", routes=(("0.0.0.0/0", SEED),),
    ),
    LinkPlan(name="stor0", kind="vlan", mtu=1400, vlan=120, parent="bond0", network="s", address="10.250.9.2/24"),
)  # fmt: skip
NETWORK: dict[str, Any] = {
    "links": [], "networks": [], "services": [], "networkd": networkd.files([asdict(link) for link in LINKS]),
}  # fmt: skip


class _BootsError(Exception):
    """The machine's ramdisk boots: the test has seen enough."""


@pytest.fixture(scope="module")
def seed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Loopback]:
    with loopback(tmp_path_factory.mktemp("metal")) as found:
        yield found


def wanted(seed: Loopback, *, password: str = "of-the-bmc", key: str = "") -> Deployment:  # noqa: S107  # of this test
    image = seed.host.at(configuration.MEDIA / "machine.qcow2")
    meta = {
        "uuid": UUID, "name": "worker-1", "hostname": "worker-1.lab.test", "public_keys": {"site": key},
        "groundup": {"user": "ops", "ca": seed.ca},
    }  # fmt: skip

    def drive(token: str) -> dict[str, Any]:
        home = {"url": f"{WANTED['media_url']}/v1/phone-home", "token": token}
        return {"meta_data": {**meta, "groundup": {**meta["groundup"], "phone_home": home}}, "network_data": NETWORK}  # type: ignore[dict-item]

    return Deployment(
        name="worker-1",
        node={
            "uuid": UUID, "name": "worker-1", "driver": "redfish", "boot_interface": "redfish-virtual-media",
            "driver_info": {
                "redfish_address": "https://127.0.0.1", "redfish_username": USER, "redfish_password": password,
                "redfish_verify_ca": False,
            },
            "properties": {"cpu_arch": "x86_64", "capabilities": "boot_mode:uefi"},
            "network_data": NETWORK, "extra": {},
        },
        mac=MAC,
        image={"url": f"{WANTED['media_url']}/machine.qcow2", "sha256": file_digest(image)},
        configdrive=drive,
    )  # fmt: skip


def tell(seed: Loopback, told: dict[str, Any]) -> str:
    """Tell the seed what a machine is, as its ramdisk does; return the status."""
    ask = [
        "curl",
        "-sk",
        "--noproxy",
        "*",
        "-o",
        "/dev/null",
        "-w",
        "%{http_code}",
        "-X",
        "POST",
        "--data-binary",
        "@-",
    ]
    ask += ["-H", "Content-Type: application/json", "-H", "X-OpenStack-Ironic-API-Version: 1.84"]
    body = json.dumps({"inventory": told["inventory"], **told["plugin_data"]})
    return seed.host.run(*ask, f"{WANTED['api_url']}/v1/continue_inspection", input=body).stdout


def test_ten_machines_that_nobody_knows_are_listed_once_each_and_an_inventory_of_50_mb_is_refused(
    seed: Loopback,
) -> None:
    ironic = seed.ironic()
    numbers = range(0x21, 0x2B)  # none has the MAC address of the machine of the tests below
    with ThreadPoolExecutor(max_workers=10) as pool:
        first = list(pool.map(lambda number: tell(seed, told(number)), numbers))
    assert first == ["202"] * 10
    assert tell(seed, told(numbers.stop, groundup_disks=["x" * 50 * 2**20])) == "413"

    def untold() -> str:
        nodes = seed.inside(ironic.discovered)
        read = [node for node in nodes if seed.inside(partial(ironic.inventory, node["uuid"]))]
        return "" if len(read) == 10 else f"{len(read)} of {len(nodes)}"

    assert not (left := wait_until(untold, timeout=120, pause=1)), left
    # Not before: Ironic looks for a machine's ports, and makes them after it has answered.
    assert tell(seed, told(numbers[0])) == "404", "it is known, and not asked for"
    assert len(seed.inside(ironic.discovered)) == 10


def test_a_wrong_password_of_the_controller_is_a_card_and_the_right_one_heals_it(seed: Loopback) -> None:
    ironic, journal = seed.ironic(), Journal(seed.home / "journal")
    work = wanted(seed, password="wrong")
    with pytest.raises(GroundupError, match="refuses user or password"):
        seed.inside(lambda: provision(ironic, work, journal, print, timeout=300, pause=1))
    assert journal.lines()[-1]["state"] == "failed"
    assert seed.machine.pid, "its controller"


def test_a_machine_is_switched_on_from_a_medium_with_the_plan_s_network(seed: Loopback) -> None:
    ironic, journal = seed.ironic(), Journal(seed.home / "journal")

    def say(line: str) -> None:
        if "its ramdisk boots" in line:
            raise _BootsError

    with pytest.raises(_BootsError):
        seed.inside(lambda: provision(ironic, wanted(seed), journal, say, timeout=300, pause=1))
    assert [line["state"] for line in journal.lines()][-2:] == ["approved", "approved"]
    (medium,) = (seed.host.at(configuration.MEDIA) / "redfish").iterdir()
    assert medium.stat().st_size > 100 * 2**20


@pytest.mark.long
def test_a_machine_is_installed_and_calls_home(seed: Loopback) -> None:
    key = seed.home / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
    ironic, journal = seed.ironic(), Journal(seed.home / "journal")
    work = wanted(seed, key=Path(f"{key}.pub").read_text().strip())
    call, _ = seed.inside(lambda: provision(ironic, work, journal, print, timeout=1800))
    known = seed.home / "known_hosts"
    known.write_text("".join(f"{GUEST} {one}\n" for one in call["host_keys"]))
    login = ["ssh", "-i", str(key), "-o", f"UserKnownHostsFile={known}", f"ops@{GUEST}"]
    shown = seed.host.run(*login, "sudo hostname && df --output=size -BG /", outside=True)
    assert shown.returncode == 0, shown.stdout
    assert shown.stdout.splitlines()[0] == "worker-1"
    assert int(shown.stdout.split()[-1].rstrip("G")) >= 10, "the root has grown"
    links = json.loads(seed.host.run(*login, "ip -json -details address", outside=True).stdout)
    found = {link["ifname"]: link for link in links}
    assert found["nic1"]["master"] == "bond0", "the port is named by the plan, and a member"
    assert found["bond0"]["linkinfo"]["info_data"]["mode"] == "active-backup"
    assert (found["stor0"]["linkinfo"]["info_data"]["id"], found["stor0"]["mtu"]) == (120, 1400)
    assert "10.250.9.2" in [one["local"] for one in found["stor0"]["addr_info"]]
    assert GUEST in [one["local"] for one in found["bond0"]["addr_info"]]
    booted = [line for line in seed.machine.console.read_text(errors="replace").splitlines() if "Linux version" in line]
    assert len(booted) == 2, "its ramdisk, which inspected and installed it, and its system"
    _the_network_is_the_host_layer_s(seed, key, known)


def _the_network_is_the_host_layer_s(seed: Loopback, key: Path, known: Path) -> None:
    """What the first boot wrote is what the host layer keeps; a change is made, and one that cuts off is taken back."""
    said = converge(seed, key, known, LINKS)
    assert all(one["path"].endswith("networkd.conf.d/10-groundup.conf") for one in said["files"]), said
    assert converge(seed, key, known, LINKS)["changed"] is False
    other = replace(LINKS[2], vlan=121, mtu=1300)
    said = converge(seed, key, known, (*LINKS[:2], other))
    assert said["changed"] is True
    assert (said["vlan"], said["mtu"]) == (121, 1300)
    nobody = replace(LINKS[2], vlan=999, network="management", address=f"{GUEST}/24", routes=LINKS[1].routes)
    alone = replace(LINKS[1], network=None, address=None, routes=())
    said = converge(seed, key, known, (LINKS[0], alone, nobody), seconds=30)
    assert "nobody confirmed it within 30 s over a new connection" in said["text"]
    assert (said["vlan"], said["mtu"]) == (121, 1300)


def converge(
    seed: Loopback, key: Path, known: Path, links: tuple[LinkPlan, ...], *, seconds: int = 120
) -> dict[str, Any]:
    """Run the module on the machine; return what changed, what was said, and the VLAN that is there afterwards."""
    module = {"site": "lab", "links": [asdict(one) for one in links], "seconds": seconds}
    play = {
        "hosts": "all", "gather_facts": False, "become": True,
        "tasks": [
            {"groundup.cloud.host": {"step": "network", **module}, "register": "found"},
            {
                "copy": {"content": "{{ found | to_json }}", "dest": str(seed.home / "found.json"), "mode": "0600"},
                "delegate_to": "localhost", "connection": "local", "become": False,
            },
        ],
    }  # fmt: skip
    ssh = {
        "ansible_host": GUEST, "ansible_user": "ops", "ansible_ssh_private_key_file": str(key),
        "ansible_ssh_common_args": f"-o UserKnownHostsFile={known} -o ServerAliveInterval=5 -o ServerAliveCountMax=3",
        "groundup_host": {"group": "worker"}, "ansible_python_interpreter": "/usr/bin/python3",
    }  # fmt: skip
    (seed.home / "play.json").write_text(json.dumps([play]))
    (seed.home / "hosts.yml").write_text(json.dumps({"all": {"hosts": {"worker-1": ssh}}}))
    words = [str(Path(sys.executable).with_name("ansible-playbook")), "-i", "hosts.yml", "play.json", "--diff"]
    own = {**os.environ, "ANSIBLE_COLLECTIONS_PATH": str(COLLECTION / ".run")}
    argv = seed.host.argv(*words, outside=True)
    done = subprocess.run(argv, cwd=seed.home, env=own, capture_output=True, text=True, timeout=900, check=False)
    print(done.stdout[-4000:], done.stderr[-2000:])
    assert done.returncode == 0
    found = json.loads((seed.home / "found.json").read_text())
    login = ["ssh", "-i", str(key), "-o", f"UserKnownHostsFile={known}", f"ops@{GUEST}"]
    shown = seed.host.run(*login, "ip -json -details link show stor0", outside=True)
    (link,) = json.loads(shown.stdout)
    return {
        "changed": found["changed"],
        "text": json.dumps(found),
        "files": [{"path": diff["after_header"]} for diff in found.get("diff", ())],
        "vlan": link["linkinfo"]["info_data"]["id"],
        "mtu": link["mtu"],
    }
