"""What a lab is on the machine, decided without touching it: names, the plan's words, the runtime configuration."""

from __future__ import annotations

import socket
import string
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.module_utils._container import (
    cgroups,
    known_hosts,
    machine,
    names,
    network,
    runtime,
    spec,
)
from ansible_collections.groundup.cloud.plugins.module_utils._container.model import LabHost, hosts_of, networks_of
from hypothesis import given
from hypothesis import strategies as st

LABEL = st.text(string.ascii_lowercase + string.digits + "-", min_size=1, max_size=40)
NETWORKS: dict[str, dict[str, Any]] = {
    "management": {
        "name": "management", "purpose": "management", "cidr": "10.90.0.0/24", "gateway": "10.90.0.1",
        "vlan": None, "mtu": 1500,
    },
    "tunnel": {"name": "tunnel", "purpose": "tunnel", "cidr": "10.90.1.0/24", "gateway": None, "vlan": 7, "mtu": 9000},
}  # fmt: skip


def plan_of(name: str = "control-1", address: str = "10.90.0.16", mtu: int = 1500) -> dict[str, Any]:
    management = {"name": "mgmt0", "network": "management", "address": address, "prefix": 24, "mtu": mtu, "mac": None}
    tunnel = {"name": "tun0", "network": "tunnel", "address": "10.90.1.16", "prefix": 24, "mtu": 9000, "mac": None}
    return {
        "name": name,
        "fqdn": f"{name}.lab.test",
        "address": address,
        "interfaces": [management, tunnel],
        "rack": "r1",
    }


def host_of(**changes: Any) -> LabHost:
    return hosts_of([plan_of(**changes)], networks_of(NETWORKS))[0]


def config() -> dict[str, Any]:
    lab = names.Lab(site="lab", root=Path("/state/lab"))
    netns = Path("/run/netns/x")
    return spec.runtime_config(
        lab, host_of(), volumes=["/var/log"], netns=netns, caps=[], devices=[], kernel_modules=None
    )


def test_hosts_of_the_cloud_s_services_weigh_more_than_those_of_guests() -> None:
    def shares(*roles: str) -> int:
        host = hosts_of([{**plan_of(), "roles": roles}], networks_of(NETWORKS))[0]
        made = spec.runtime_config(
            names.Lab(site="lab", root=Path("/state/lab")), host, volumes=[], netns=Path("/run/netns/x"), caps=[],
            devices=[], kernel_modules=None,
        )  # fmt: skip
        return int(made["linux"]["resources"]["cpu"]["shares"])

    assert shares("control") == shares("worker", "storage") == 4 * shares("hypervisor")


@given(site=LABEL, host=LABEL, interface=LABEL)
def test_every_link_name_fits_the_kernel_and_is_found_by_its_sites_prefix(site: str, host: str, interface: str) -> None:
    name = names.link_name(site, host, interface)
    assert len(name) <= 15
    assert name.startswith(names.link_prefix(site))


def test_sites_whose_names_begin_alike_share_no_prefix() -> None:
    assert names.link_prefix("lab") != names.link_prefix("lab-ha")
    assert not "groundup.lab-ha.control-1".startswith(names.id_prefix("lab"))


@given(what=LABEL)
def test_a_derived_mac_address_is_local_unicast_and_always_the_same(what: str) -> None:
    address = names.mac("lab", what)
    assert int(address[:2], 16) & 0b11 == 0b10
    assert address == names.mac("lab", what)


def test_the_default_route_is_on_the_management_network_only() -> None:
    assert [interface.gateway for interface in host_of().interfaces] == ["10.90.0.1", None]


def test_offloads_are_off_where_a_userspace_switch_forwards() -> None:
    assert [interface.offload for interface in host_of().interfaces] == [True, False]


def test_a_host_on_a_network_the_site_has_not_is_refused_with_both_names() -> None:
    with pytest.raises(GroundupError, match="mgmt0 is on network 'management'"):
        hosts_of([plan_of()], networks_of({"tunnel": NETWORKS["tunnel"]}))


def test_a_host_no_interface_of_which_has_its_address_is_refused() -> None:
    with pytest.raises(GroundupError, match=r"no interface carries the host's address 10\.90\.0\.99"):
        hosts_of([plan_of() | {"address": "10.90.0.99"}], networks_of(NETWORKS))


def test_a_change_of_the_wiring_changes_its_digest_and_nothing_else_does() -> None:
    assert host_of().wiring() == host_of().wiring()
    assert host_of().wiring() != host_of(mtu=1400).wiring()


def test_the_machines_clock_is_not_the_hosts_to_set() -> None:
    assert "CAP_SYS_TIME" not in spec.capabilities(2**41 - 1)


def test_a_capability_this_machine_does_not_have_is_not_asked_for() -> None:
    mask = spec.bounding_set("Name:\tx\nCapBnd:\t000001fffeffffff\n")  # all but SYS_RESOURCE, bit 24
    assert "CAP_SYS_RESOURCE" not in spec.capabilities(mask)
    assert "CAP_SYS_ADMIN" in spec.capabilities(mask)


def test_a_host_is_below_its_sites_control_group_in_namespaces_of_its_own() -> None:
    linux = config()["linux"]
    assert linux["cgroupsPath"] == "/groundup/lab/control-1"
    assert {entry["type"] for entry in linux["namespaces"]} == {"pid", "ipc", "uts", "mount", "cgroup", "network"}
    assert linux["namespaces"][-1]["path"] == "/run/netns/x"


def test_volumes_are_kept_outside_the_root_file_system() -> None:
    mounts = config()["mounts"]
    assert {m["destination"]: m["source"] for m in mounts}["/var/log"] == "/state/lab/control-1/volumes/var/log"


def test_devices_this_machine_does_not_have_are_left_out() -> None:
    assert [node["path"] for node in spec.device_nodes(["/dev/null", "/dev/not-here", "/etc/passwd"])] == ["/dev/null"]


def bridge(**changes: Any) -> dict[str, Any]:
    link = {"mtu": 1500, "flags": ["UP"], "addr_info": [{"family": "inet", "local": "10.90.0.1", "prefixlen": 24}]}
    return {names.link_name("lab", "management"): link | changes}


@pytest.mark.parametrize(
    ("links", "faults"),
    [
        (bridge(), []),
        ({}, ["missing"]),
        (bridge(mtu=1400), ["mtu 1400, not 1500"]),
        (bridge(flags=[]), ["down"]),
        (bridge(addr_info=[]), ["address none, not 10.90.0.1/24"]),
    ],
)
def test_a_bridge_that_is_not_as_planned_is_told_from_one_that_is(links: dict[str, Any], faults: list[str]) -> None:
    assert network.bridge_faults("lab", networks_of(NETWORKS)["management"], links) == faults


def test_known_hosts_gets_each_hosts_key_once_and_keeps_the_others_lines() -> None:
    host, other = host_of(), "10.0.0.1 ssh-ed25519 OTHER\n"
    first = known_hosts.merged(other, {host: "ssh-ed25519 OLD"}, port=22)
    second = known_hosts.merged(first, {host: "ssh-ed25519 NEW"}, port=22)
    assert second == f"{other}10.90.0.16,control-1,control-1.lab.test ssh-ed25519 NEW\n"
    assert known_hosts.merged(second, {host: None}, port=22) == other


def test_known_hosts_names_the_port_when_it_is_not_the_usual_one() -> None:
    assert known_hosts.merged("", {host_of(): "k"}, port=2222).startswith("[10.90.0.16]:2222,")


def sysctl(root: Path, **values: str) -> None:
    for name, value in values.items():
        path = root / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{value}\n")
        path.chmod(0o644)


def test_kernel_settings_are_put_back_and_those_that_did_not_change_are_left_alone(tmp_path: Path) -> None:
    sysctl(tmp_path, kernel__panic="0", vm__swappiness="60")
    before = machine.settings(tmp_path)
    sysctl(tmp_path, kernel__panic="10")
    assert machine.restore(before, tmp_path) == ["kernel/panic"]
    assert machine.settings(tmp_path) == before


def test_counters_and_settings_of_a_network_namespace_are_not_recorded(tmp_path: Path) -> None:
    sysctl(tmp_path, kernel__ns_last_pid="7", kernel__random__uuid="x", net__ipv4__ip_forward="1", kernel__panic="0")
    assert machine.settings(tmp_path) == {"kernel/panic": "0"}


def test_a_setting_that_cannot_be_put_back_is_named(tmp_path: Path) -> None:
    sysctl(tmp_path, kernel__panic="10")
    with pytest.raises(GroundupError, match=r"kernel/panic = 10, was 0"):
        machine.restore({"kernel/panic": "0"}, _Stubborn(tmp_path))


class _Stubborn(type(Path())):  # type: ignore[misc]  # the class of a path depends on the OS
    """A directory whose files refuse to be written, as some kernel settings do."""

    def write_text(self, *_: Any, **__: Any) -> int:
        raise PermissionError


V1 = """\
24 1 0:20 / / rw,relatime shared:1 - ext4 /dev/vda rw
31 24 0:26 / /sys/fs/cgroup ro,nosuid - tmpfs tmpfs ro,mode=755
32 31 0:27 / /sys/fs/cgroup/memory rw,relatime shared:9 - cgroup cgroup rw,memory
33 31 0:28 / /sys/fs/cgroup/systemd rw,relatime - cgroup cgroup rw,name=systemd
34 31 0:29 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw
35 24 0:30 / /state/lab/control-1/rootfs/sys/fs/cgroup rw - cgroup2 cgroup2 rw
"""
V2 = """\
24 1 0:20 / / rw,relatime shared:1 - ext4 /dev/vda rw
31 24 0:26 / /sys/fs/cgroup rw,nosuid,nodev,noexec,relatime shared:4 - cgroup2 cgroup2 rw,nsdelegate
"""


@pytest.mark.parametrize(
    ("mounts", "expected"),
    [(V1, ["memory", "systemd", "unified"]), (V2, ["."])],
    ids=["v1 and hybrid", "v2"],
)
def test_hierarchies_are_those_this_machine_has_mounted(tmp_path: Path, mounts: str, expected: list[str]) -> None:
    path = tmp_path / "mountinfo"
    path.write_text(mounts)
    assert cgroups.hierarchies(path) == [Path("/sys/fs/cgroup") / name for name in expected]


def test_processes_are_found_in_every_hierarchy_below_a_group(tmp_path: Path) -> None:
    for place, pids in (("memory/groundup/lab/a", "11\n12\n"), ("systemd/groundup/lab/a/init.scope", "12\n13\n")):
        (tmp_path / place).mkdir(parents=True)
        (tmp_path / place / "cgroup.procs").write_text(pids)
    (tmp_path / "memory/groundup/lab-ha").mkdir()
    (tmp_path / "memory/groundup/lab-ha/cgroup.procs").write_text("99\n")
    assert cgroups.populated("/groundup/lab", [tmp_path / "memory", tmp_path / "systemd"]) == {11, 12, 13}


def test_processes_are_found_in_the_one_hierarchy_of_v2_and_not_in_what_looks_like_a_group_elsewhere(
    tmp_path: Path,
) -> None:
    for place, pids in (("groundup/lab/a/init.scope", "11\n"), ("user.slice/groundup/lab", "99\n")):
        (tmp_path / place).mkdir(parents=True)
        (tmp_path / place / "cgroup.procs").write_text(pids)
    assert cgroups.populated("/groundup/lab", [tmp_path]) == {11}
    assert cgroups.groups("/groundup/lab", [tmp_path])[-1] == tmp_path / "groundup/lab", "deepest first, for rmdir"


UNIFIED = {"cgroup.controllers": "cpuset cpu io memory hugetlb pids\n", "cgroup.procs": "1\n7\n"}


@pytest.mark.parametrize(
    ("files", "fault", "remedy"),
    [
        (UNIFIED, "", ""),
        ({**UNIFIED, "cgroup.type": "domain\n", "cgroup.procs": ""}, "", ""),  # of a container with an init
        ({**UNIFIED, "cgroup.type": "domain\n"}, "processes are in the root of this container's", "systemd"),
        ({**UNIFIED, "cgroup.controllers": "cpu io pids\n"}, "control groups lack cpuset, memory", "cgroup_disable="),
        ({"tasks": "1\n"}, "", ""),  # version 1
    ],
)
def test_control_groups_that_carry_no_host_are_told_with_the_remedy(
    tmp_path: Path, files: dict[str, str], fault: str, remedy: str
) -> None:
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    found = list(cgroups.faults([tmp_path]))
    assert len(found) == bool(fault)
    assert all(what.startswith(fault) and remedy in how for what, how in found)


def test_a_machine_without_control_groups_or_with_those_of_another_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert [what for what, _ in cgroups.faults([])] == ["no control groups"]
    monkeypatch.setattr("os.access", lambda *_: False)
    assert [what for what, _ in cgroups.faults([tmp_path])] == [f"{tmp_path} is read-only"]


def test_a_slow_sshd_is_waited_for() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer() -> None:
            connection, _ = server.accept()
            with connection:
                time.sleep(1.5)
                connection.sendall(b"SSH-2.0-OpenSSH\r\n")

        thread = threading.Thread(target=answer)
        thread.start()
        assert runtime._banner("127.0.0.1", server.getsockname()[1])
        thread.join()
