"""A machine that cannot carry a lab is told so first: a fault for each reason, with field, machine and remedy."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.groundup.cloud.plugins.module_utils._container.names import Lab, link_name, link_prefix
from ansible_collections.groundup.cloud.plugins.module_utils._preflight import system
from ansible_collections.groundup.cloud.plugins.module_utils._preflight.model import MachineFacts
from ansible_collections.groundup.cloud.plugins.plugin_utils.lab import check
from ansible_collections.groundup.cloud.plugins.plugin_utils.lab.check import GIB, TOOLS, LabMachine, LabNeeds
from ansible_collections.groundup.cloud.plugins.plugin_utils.paths import COLLECTION


def wanted(tmp_path: Path) -> LabNeeds:
    return LabNeeds(
        lab=Lab(site="lab", root=tmp_path / "state/lab/lab"),
        networks={"management": "10.90.0.0/24", "storage": "10.90.2.0/24"},
        memory_gb={"control-1": 2, "worker-1": 2},
        kvm=["fast"],
    )


def machine(**changes: Any) -> LabMachine:
    enough = LabMachine(
        root=True, tools=frozenset(TOOLS), control_groups=(), memory_available=8 * GIB, disk_free=30 * GIB,
        links={"lo": link("127.0.0.1/8"), "eth0": link("192.0.2.7/24")},
        routes=[{"dst": "default", "gateway": "192.0.2.1", "dev": "eth0"}, {"dst": "192.0.2.0/24", "dev": "eth0"}],
        running=frozenset(),
    )  # fmt: skip
    return replace(enough, **changes)


def link(address: str, alias: str = "") -> dict[str, Any]:
    local, _, prefix = address.partition("/")
    return {"ifalias": alias, "addr_info": [{"family": "inet", "local": local, "prefixlen": int(prefix)}]}


def told(tmp_path: Path, found: LabMachine) -> list[str]:
    return [str(fault) for fault in check.faults(wanted(tmp_path), found)]


def test_a_machine_that_has_it_all_is_let_through(tmp_path: Path) -> None:
    assert told(tmp_path, machine()) == []


@pytest.mark.parametrize(
    ("found", "fault", "remedy"),
    [
        ({"root": False}, "a lab needs root", "run it as root"),
        (
            {"tools": frozenset(TOOLS) - {"runc", "ip", "ss"}},
            "ip, runc, ss: not on this machine",
            "apt-get install iproute2 runc",
        ),
        ({"control_groups": [("no control groups", "mount -t cgroup2")]}, "no control groups", "mount -t cgroup2"),
        ({"lacking": ["br_netfilter", "overlay"]}, "the kernel has no br_netfilter, overlay", "restart this machine"),
        ({"cores": 1}, "1 core, and a lab needs 2", "give this machine another one"),
        ({"kvm": False}, "/dev/kvm is not there, and guests of hardware fast need it", "nested virtualisation"),
        ({"memory_available": GIB}, "1.0 GiB of memory are available, and 2 hosts need", "write fewer machines"),
        (
            {"dropping": ["inet firewalld filter_FORWARD"]},
            "the chain inet firewalld filter_FORWARD of nftables drops what this machine forwards",
            f'nft insert rule inet firewalld filter_FORWARD iifname "{link_prefix("lab")}*"',
        ),
        ({"disk_free": 3 * GIB}, "3.0 GiB of disk are free, and 2 new hosts need 6.0 GiB", "GROUNDUP_STATE"),
    ],
)
def test_what_is_missing_is_named_with_its_remedy(
    tmp_path: Path, found: dict[str, Any], fault: str, remedy: str
) -> None:
    (text,) = told(tmp_path, machine(**found))
    assert text.startswith(fault)
    assert remedy in text
    assert "this machine (" in text, "which machine"


@pytest.mark.parametrize(
    ("found", "whose"),
    [
        ({"links": {"eth0": link("10.90.0.200/16")}}, "10.90.0.0/16 (eth0)"),
        (
            {"links": {"guffff-1": link("10.90.0.1/24", "groundup/lab-ha/management")}},
            "(guffff-1: lab-ha/management, a",
        ),
        ({"routes": [{"dst": "10.90.0.0/20", "gateway": "192.0.2.9", "dev": "eth0"}]}, "(route via 192.0.2.9)"),
        ({"routes": [{"dst": "10.90.0.77", "dev": "tun0"}]}, "10.90.0.77 (route on tun0)"),
        ({"routes": [{"type": "blackhole", "dst": "10.90.0.0/24"}]}, "(route on nothing)"),
    ],
)
def test_a_network_this_machine_uses_already_is_refused_with_the_field_and_whose_it_is(
    tmp_path: Path, found: dict[str, Any], whose: str
) -> None:
    text = "\n".join(told(tmp_path, machine(**found)))
    assert whose in text
    assert "networks.management.cidr" in text
    assert "write another networks.management.cidr" in text


def test_routes_to_everywhere_and_the_labs_own_bridges_take_no_network(tmp_path: Path) -> None:
    own = link_name("lab", "management")
    found = machine(
        links={own: link("10.90.0.1/24", "groundup/lab/management")},
        routes=[
            {"dst": "default", "dev": "eth0"},
            {"dst": "0.0.0.0/1", "gateway": "10.8.0.1", "dev": "tun0"},
            {"dst": "10.90.0.0/24", "dev": own},
        ],
    )
    assert told(tmp_path, found) == []


def test_a_kernel_with_a_list_of_its_modules_is_asked_for_all_and_another_one_for_what_it_shows(tmp_path: Path) -> None:
    names = check.MODULES
    assert check.unknown_modules(MachineFacts(root=tmp_path), names) == ["br_netfilter", "overlay"]
    listed = tmp_path / system.modules_home().lstrip("/") / "modules.dep"
    listed.parent.mkdir(parents=True)
    listed.write_text("kernel/fs/overlayfs/overlay.ko.xz:\nkernel/net/bridge/br_netfilter.ko: kernel/net/llc/llc.ko\n")
    assert check.unknown_modules(MachineFacts(root=tmp_path), names) == ["bridge", "veth"]


def test_guests_with_the_processors_help_and_modules_of_hosts_are_read_from_the_site(tmp_path: Path) -> None:
    site = yaml.safe_load((COLLECTION / "inventories/cloud/site.yml").read_text())
    file = tmp_path / "site.yml"
    file.write_text(yaml.safe_dump(site))
    assert check.needs_of(str(file)).kvm == []
    assert {"br_netfilter", "overlay", "veth", "nf_tables", "vxlan"} <= set(check.needs_of(str(file)).kernel_modules)
    del site["hardware"]["diskless"]["compute"]["virt_type"]
    file.write_text(yaml.safe_dump(site))
    assert check.needs_of(str(file)).kvm == ["diskless"]


def test_hosts_that_run_already_are_not_asked_for_again(tmp_path: Path) -> None:
    for name in ("control-1", "worker-1"):
        home = tmp_path / "state/lab/lab" / name
        home.mkdir(parents=True)
        (home / "prepared").touch()
    everything = machine(running=frozenset({"control-1", "worker-1"}), memory_available=0, disk_free=0)
    assert told(tmp_path, everything) == []


def test_several_faults_are_told_at_once(tmp_path: Path) -> None:
    assert len(told(tmp_path, machine(root=False, tools=frozenset(), memory_available=0, disk_free=0))) == 4


def test_this_very_machine_can_be_looked_at(tmp_path: Path) -> None:
    elsewhere = Lab(site="no-such-site", root=tmp_path / "state")
    found = LabMachine.now(replace(wanted(tmp_path), lab=elsewhere))
    assert found.memory_available > 0
    assert found.disk_free > 0
    assert found.running == frozenset()
