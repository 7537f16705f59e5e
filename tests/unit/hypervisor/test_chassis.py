"""Open vSwitch and OVN of a host, from the plan; and what is done to the database, from what it says."""

from __future__ import annotations

import grp
import os
import socket
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.module_utils._host import units
from ansible_collections.groundup.cloud.plugins.module_utils._hypervisor import openvswitch
from ansible_collections.groundup.cloud.plugins.module_utils._hypervisor.openvswitch import LOOPBACK, NOTHING, Known
from ansible_collections.groundup.cloud.plugins.plugin_utils.hypervisor.chassis import Chassis, chassis
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import build_site, make_plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.output.serial import host_vars, site_vars

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def changes() -> Changes:
    return Changes(check=False)


def planned(**compute: Any) -> Chassis:
    """Return the chassis of the first hypervisor of a lab with two; ``compute``: of hardware of its own."""
    data: dict[str, Any] = yaml.safe_load((ROOT / "inventories/lab/site.yml").read_text())
    data["machines"]["hypervisor"] = {"count": 2, "rack": "r1"}
    if compute:
        small = {"cores": 1, "memory_gb": 2, "nic_gbps": 1, "nvme": False}
        data["hardware"] = {"own": {**small, "compute": compute}}
        data["machines"]["hypervisor"]["hardware"] = "own"
    plan = make_plan(build_site(data))
    host = next(one for one in plan.hosts.values() if "hypervisor" in one.roles)
    return chassis(site_vars(plan), host_vars(host))


def bridges(found: Chassis) -> dict[str, str]:
    return {one.name: one.port for one in found.bridges}


def test_where_open_vswitch_carries_packets_itself_it_owns_the_underlay_too() -> None:
    found = planned()
    assert set(bridges(found)) == {"br-phy", "br-ex"}
    assert {one.datapath for one in found.bridges} == {"netdev"}
    (underlay,) = [one for one in found.bridges if one.address]
    assert underlay.address == f"{found.tunnel}/24"
    assert found.other_config == {"userspace-tso-enable": "true"}, "else TCP of guests hangs while ping works"
    assert found.external_ids["ovn-bridge-datapath-type"] == "netdev"


def test_with_the_kernels_module_the_tunnel_keeps_its_interface() -> None:
    found = planned(datapath="system")
    assert set(bridges(found)) == {"br-ex"}
    assert found.other_config == {}
    assert found.external_ids["ovn-bridge-datapath-type"] == "system"


def test_the_chassis_is_called_as_its_certificate_and_its_compute() -> None:
    found = planned()
    assert found.system_id == found.external_ids["hostname"] == "hypervisor-1"
    assert found.external_ids["ovn-encap-ip"] == found.tunnel
    assert found.external_ids["ovn-remote"].startswith("ssl:10.90.0.")
    assert found.external_ids["ovn-bridge-mappings"] == "physnet1:br-ex"


def known(wanted: dict[str, Any], **other: Any) -> Known:
    """Return a database that says what ``wanted`` says."""
    said: dict[str, Any] = {
        "external_ids": {**wanted["external_ids"], "system-id": "by ovs-ctl"},
        "other_config": wanted["other_config"],
        "datapaths": {one["name"]: one["datapath"] for one in wanted["bridges"]},
        "ports": {one["name"]: [one["port"]] for one in wanted["bridges"]},
    }
    return Known(**{**said, **other})


def test_a_database_that_says_so_is_left_alone() -> None:
    wanted = planned().options()
    assert openvswitch.differences(known(wanted), wanted) == []


def test_an_empty_database_gets_everything_and_offloads_first() -> None:
    wanted = planned().options()
    lines = [line for line, _ in openvswitch.differences(NOTHING, wanted)]
    assert lines[0].startswith("other_config:userspace-tso-enable")
    assert {"bridge br-phy", "bridge br-ex"} <= set(lines)


@pytest.mark.parametrize(
    ("other", "line", "command"),
    [
        (
            {"ports": {"br-phy": ["tnl0"], "br-ex": []}},
            "port prov0 in br-ex",
            ["--may-exist", "add-port", "br-ex", "prov0"],
        ),
        (
            {"datapaths": {"br-phy": "netdev", "br-ex": "system"}},
            "bridge br-ex: datapath netdev",
            ["set", "Bridge", "br-ex", "datapath_type=netdev", "fail_mode=standalone"],
        ),
    ],
)
def test_only_what_differs_is_set(other: dict[str, Any], line: str, command: list[str]) -> None:
    wanted = planned().options()
    port = bridges(planned())["br-ex"]
    expected = (line.replace("prov0", port), [word.replace("prov0", port) for word in command])
    if "ports" in other:
        other = {"ports": {"br-phy": [bridges(planned())["br-phy"]], "br-ex": []}}
    assert openvswitch.differences(known(wanted, **other), wanted) == [expected]


def test_a_value_with_colons_and_commas_reaches_the_database_whole() -> None:
    wanted = {"external_ids": {"ovn-remote": "ssl:10.0.0.1:6642,ssl:10.0.0.2:6642"}, "other_config": {}, "bridges": []}
    ((_, command),) = openvswitch.differences(Known(**_EMPTY), wanted)
    assert command[-1] == 'external_ids:ovn-remote="ssl:10.0.0.1:6642,ssl:10.0.0.2:6642"'


_EMPTY: dict[str, Any] = {"external_ids": {}, "other_config": {}, "datapaths": {}, "ports": {}}


@pytest.mark.parametrize(
    ("managers", "commands"),
    [
        ("", []),
        (f"{LOOPBACK}\n", [["del-manager"]]),
        (f"{LOOPBACK}\nssl:192.0.2.9:6640\n", [["set-manager", "ssl:192.0.2.9:6640"]]),
        ("ptcp:6640:0.0.0.0\n", []),  # an operator's
    ],
)
def test_the_listener_for_every_account_of_the_host_is_closed_and_others_stay(
    monkeypatch: pytest.MonkeyPatch, changes: Changes, managers: str, commands: list[list[str]]
) -> None:
    ran: list[list[str]] = []
    monkeypatch.setattr(openvswitch, "_there", lambda: True)
    monkeypatch.setattr(openvswitch, "attempt", lambda argv: subprocess.CompletedProcess(argv, 0, managers, ""))
    monkeypatch.setattr(openvswitch, "run", lambda argv: ran.append(argv[2:]))
    openvswitch.close_loopback(Changes(check=True))
    assert ran == []
    openvswitch.close_loopback(changes)
    assert ran == commands
    assert bool(changes.done) == bool(commands)


def test_the_databases_socket_lets_one_group_in_at_each_start(
    monkeypatch: pytest.MonkeyPatch, changes: Changes, tmp_path: Path
) -> None:
    path, drop_in = tmp_path / "db.sock", tmp_path / "drop-in.conf"
    monkeypatch.setattr(openvswitch, "SOCKET", path)
    monkeypatch.setattr(openvswitch, "ADMITS", drop_in)
    monkeypatch.setattr(units, "MARKS", tmp_path / "marks")
    monkeypatch.setattr(units, "run", lambda *_, **__: "ActiveState=active\nSubState=running\nNeedDaemonReload=no\n")
    (own,) = [one.gr_name for one in grp.getgrall() if one.gr_gid == os.getegid()]
    assert openvswitch.shut_out(own) == f"there is no {path}"
    server = socket.socket(socket.AF_UNIX)
    server.bind(str(path))
    path.chmod(0o750)  # as Open vSwitch leaves it
    assert openvswitch.shut_out(own) == f"{path} is not open to group {own}"
    assert openvswitch.shut_out("nobody-of-this-name") == "there is no group nobody-of-this-name"
    predicted = Changes(check=True)
    openvswitch.admit(predicted, own)
    assert openvswitch.shut_out(own)
    openvswitch.admit(changes, own)
    assert predicted.done == changes.done
    assert openvswitch.shut_out(own) == ""
    assert path.stat().st_mode & 0o777 == 0o770
    assert drop_in.read_text().splitlines()[1:] == [
        "[Service]", f"ExecStartPost=-/usr/bin/chgrp {own} {path}", f"ExecStartPost=-/usr/bin/chmod 0770 {path}",
    ]  # fmt: skip
    again = Changes(check=False)
    openvswitch.admit(again, own)
    assert again.done == []
    server.close()


def test_tables_are_read_as_ovs_vsctl_prints_them() -> None:
    text = '{"data":[[["map",[["a","b"]]],["set",[["uuid","u"]]],"x",["uuid","v"]]],"headings":["m","s","n","u"]}'
    assert openvswitch.rows(text) == [{"m": {"a": "b"}, "s": ["u"], "n": "x", "u": "v"}]


def test_the_underlays_script_may_be_run_again_and_moves_the_address() -> None:
    lines = openvswitch.script(planned().options()["bridges"]).splitlines()
    (flush,) = [line for line in lines if "flush" in line]
    assert any(line.startswith("ip addr replace") and line.endswith("dev br-phy") for line in lines)
    assert "br-ex" not in flush
