"""What a host's program tells of the real OVN, Open vSwitch, libvirt and ext4, as the node exporter passes it on."""

from __future__ import annotations

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._hypervisor import ovn as ovn_controller
from ansible_collections.groundup.cloud.plugins.module_utils._monitoring.host_metrics import libvirt, node, ovn, program
from ansible_collections.groundup.cloud.plugins.module_utils._ovn.databases import DATABASES, NB, RUN, SB, Database
from ansible_collections.groundup.cloud.tests.e2e.waiting import until
from ansible_collections.groundup.cloud.tests.integration.host_root import HostRoot

from .told import Told

HEARS = "ovn_controller_southbound_database_connected"
SB_LABELS = '{db_name="OVN_Southbound"}'


def _database(host: HostRoot, one: Database) -> None:
    """Run this host's member, and another one: two that need each other."""
    host.at(one.file).parent.mkdir(parents=True, exist_ok=True)
    host.at(RUN).mkdir(parents=True, exist_ok=True)
    first, second = f"tcp:127.0.0.1:{one.raft_port}", f"tcp:127.0.0.1:{one.raft_port + 10}"
    host.run("ovsdb-tool", "create-cluster", str(one.file), str(one.schema), first)
    host.start("ovsdb-server", f"--remote=p{one.socket}", f"--unixctl={one.control}", str(one.file))
    host.run("ovsdb-tool", "join-cluster", f"/srv/{one.short}.db", one.name, second, first)
    host.start(
        "ovsdb-server", f"--unixctl=/srv/{one.short}.ctl", f"--pidfile=/srv/{one.short}.pid", f"/srv/{one.short}.db"
    )


def test_a_control_host_tells_role_leader_and_lag_of_its_members(told: Told) -> None:
    assert set(told.metrics()) == {program.LAST_RUN}, "a host without OVN"
    for one in DATABASES:
        told.host.at(one.file).parent.mkdir(parents=True, exist_ok=True)
        told.host.at(one.file).touch()
    silent = told.metrics()
    assert {silent[f'ovn_db_cluster_has_leader{{db_name="{one.name}"}}'] for one in DATABASES} == {0}
    assert silent["ovn_northd_status"] == ovn.SILENT
    for one in DATABASES:
        told.host.at(one.file).unlink()
        _database(told.host, one)
    until(lambda: told.metrics().get(f"ovn_db_cluster_has_leader{SB_LABELS}") == 1, seconds=60)
    found = told.metrics()
    assert found['ovn_db_cluster_server_role{db_name="OVN_Southbound",server_role="leader"}'] == 1
    assert found[f"ovn_db_cluster_term{SB_LABELS}"] >= 1
    assert found[f"ovn_db_cluster_log_index_next{SB_LABELS}"] > 1
    assert found[f"ovn_db_cluster_log_not_applied{SB_LABELS}"] == 0
    assert found[f"ovn_db_db_size_bytes{SB_LABELS}"] > 100
    other = told.host.at("/srv/sb.pid").read_text().strip()
    told.done("kill", "-KILL", other)
    until(lambda: told.metrics().get(f"ovn_db_cluster_has_leader{SB_LABELS}") == 0, seconds=60)


def test_a_chassis_that_hears_nothing_and_a_switch_that_stands_still_are_told(told: Told) -> None:
    host = told.host
    for one in DATABASES:
        host.at(one.file).parent.mkdir(parents=True, exist_ok=True)
        host.at(RUN).mkdir(parents=True, exist_ok=True)
        told.done("ovsdb-tool", "create-cluster", str(one.file), str(one.schema), f"tcp:127.0.0.1:{one.raft_port}")
        host.start("ovsdb-server", f"--remote=p{one.socket}", f"--unixctl={one.control}", str(one.file))
    until(lambda: host.run("ovn-nbctl", f"--db={NB.socket}", "init").returncode == 0, seconds=60)
    until(lambda: host.run("ovn-sbctl", f"--db={SB.socket}", "init").returncode == 0, seconds=60)
    told.done("ovn-northd", f"--ovnnb-db={NB.socket}", f"--ovnsb-db={SB.socket}", "--pidfile", "--detach")
    told.is_told(ovn_northd_status=1)
    told.done("pkill", "-STOP", "ovn-northd")
    assert told.metrics()["ovn_northd_status"] == ovn.SILENT, "it hangs, and its databases answer"
    told.done("pkill", "-CONT", "ovn-northd")
    told.is_told(ovn_northd_status=1)
    _chassis(told)
    told.done("ovn-nbctl", f"--db={NB.socket}", "set", "NB_Global", ".", "nb_cfg=7")
    told.is_told(ovn_sb_cfg=7, ovn_hv_cfg=7, ovn_southbound_nb_cfg=7, ovs_up=1, **{HEARS: 1})
    found = told.metrics()
    assert found['ovn_chassis_nb_cfg{chassis="worker-1"}'] == 7
    assert found["ovs_cur_cfg"] == found["ovs_next_cfg"]
    agent = 'neutron_ovn_agent_nb_cfg{chassis="worker-1"}'
    assert agent not in found
    note = f'external_ids:"{ovn.AGENT}"=6'
    told.done("ovn-sbctl", f"--db={SB.socket}", "set", "Chassis_Private", "worker-1", note)
    assert told.metrics()[agent] == 6
    # What a hypervisor compares (_hypervisor/ovn.py).
    own = host.run("ovn-appctl", "-t", "ovn-controller", "version").stdout
    northd = host.run(
        "ovn-sbctl", f"--db={SB.socket}", "get", "SB_Global", ".", "options:northd_internal_version"
    ).stdout
    versions = [ovn_controller._VERSION.search(text) for text in (own, northd)]
    assert [one and one[1] for one in versions] == ["25.03"] * 2, (own, northd)

    told.done("pkill", "-STOP", "ovs-vswitchd")
    assert told.metrics()["ovs_up"] == 0, "it hangs, and its database answers"
    told.done("pkill", "-CONT", "ovs-vswitchd")
    assert told.metrics()["ovs_up"] == 1
    told.done("pkill", "ovn-controller")
    told.done("pkill", "-KILL", "ovs-vswitchd")
    told.done("ovn-nbctl", f"--db={NB.socket}", "set", "NB_Global", ".", "nb_cfg=8")
    assert told.host.run("ovs-vsctl", "--timeout=2", "add-br", "br-new").returncode != 0, "nobody makes it"
    told.is_told(ovn_southbound_nb_cfg=8, **{HEARS: 0})
    found = told.metrics()
    assert found['ovn_chassis_nb_cfg{chassis="worker-1"}'] == 7
    assert found["ovs_cur_cfg"] < found["ovs_next_cfg"]
    told.done("pkill", "-f", "/srv/conf.db")
    until(lambda: told.metrics()["ovs_up"] == 0, seconds=30)


def _chassis(told: Told) -> None:
    host = told.host
    host.at(ovn.CHASSIS).parent.mkdir(parents=True, exist_ok=True)
    host.at(ovn.CHASSIS).write_text("worker-1\n")
    host.at(ovn.SWITCH).parent.mkdir(parents=True, exist_ok=True)
    told.done("ovsdb-tool", "create", "/srv/conf.db", "/usr/share/openvswitch/vswitch.ovsschema")
    host.start("ovsdb-server", f"--remote=punix:{ovn.SWITCH}", "/srv/conf.db")
    until(lambda: host.run("ovs-vsctl", "--no-wait", "init").returncode == 0, seconds=30)
    ids = ("system-id=worker-1", f"ovn-remote={SB.socket}", "ovn-encap-type=geneve", "ovn-encap-ip=10.90.0.41")
    told.done("ovs-vsctl", "--no-wait", "set", "Open_vSwitch", ".", *(f"external_ids:{one}" for one in ids))
    # Detached: nsenter, by which the others start, stops with what it started.
    told.done("ovs-vswitchd", "--enable-dummy=override", "--disable-system", "--pidfile", "--detach")
    host.start("ovn-controller", "--pidfile")


def test_a_hypervisor_tells_its_domains_by_state_and_a_libvirtd_that_is_silent(told: Told) -> None:
    told.host.at(libvirt.HYPERVISOR).parent.mkdir(parents=True, exist_ok=True)
    told.host.at(libvirt.HYPERVISOR).touch()
    assert told.metrics()["libvirt_up"] == 0
    told.host.start("/usr/sbin/libvirtd")
    told.is_told(libvirt_up=1)
    # None is defined: libvirt would ask QEMU what this machine can do.
    domains = {name: value for name, value in told.metrics().items() if name.startswith("libvirt_domains")}
    assert domains == {f'libvirt_domains{{state="{state}"}}': 0 for state in libvirt.STATES}


def test_a_node_tells_whether_its_container_runtime_answers(told: Told) -> None:
    """Without a kubelet and a cluster: those are silent."""
    told.host.at(node.ACCESS).parent.mkdir(parents=True, exist_ok=True)
    told.host.at(node.ACCESS).write_text("{}")
    silent = {"kubelet_up": 0, "container_runtime_up": 0, "groundup_node_known": 0}
    assert silent.items() <= told.metrics().items()
    # In a session of its own: nsenter, by which others start, stops with what it started.
    told.done("sh", "-c", "setsid containerd > /tmp/containerd.log 2>&1 &")
    told.is_told(container_runtime_up=1, groundup_node_known=0)
    told.done("pkill", "-STOP", "-x", "containerd")
    assert told.metrics()["container_runtime_up"] == 0, "it hangs, and its socket takes connections"
    told.done("pkill", "-CONT", "-x", "containerd")
    told.is_told(container_runtime_up=1)


def test_a_file_system_that_its_kernel_made_read_only_is_told(told: Told) -> None:
    host = told.host
    told.done("truncate", "--size=64M", "/srv/disk")
    told.done("mkfs.ext4", "-q", "/srv/disk")
    told.done("mkdir", "/srv/data")
    mounted = host.run("mount", "-o", "loop,errors=remount-ro", "/srv/disk", "/srv/data")
    if mounted.returncode:
        pytest.skip(f"no loop device here: {mounted.stdout}")
    device = told.done("findmnt", "--noheadings", "--output=SOURCE", "/srv/data").strip()
    series = f'groundup_filesystem_readonly{{device="{device}",fstype="ext4",mountpoint="/srv/data"}}'
    assert told.metrics()[series] == 0
    told.done("sh", "-c", f"echo 1 > /sys/fs/ext4/{device.removeprefix('/dev/')}/trigger_fs_error")
    assert host.run("touch", "/srv/data/one").returncode != 0
    assert told.metrics()[series] == 1
    told.done("umount", "/srv/data")
