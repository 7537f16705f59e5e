"""The network of a host: what is refused, what is foretold, and who decides about a change."""

from __future__ import annotations

import json
import subprocess
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.module_utils._base.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.module_utils._host import (
    network,
    network_links,
    network_steps,
    networkd,
    ownership,
    units,
)
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.part_types import LinkPlan

MAC, OTHER = "52:54:00:4d:00:01", "52:54:00:4d:00:02"
ROUTES = (("0.0.0.0/0", "10.0.0.1"),)
PORT = LinkPlan(name="mgmt0", kind="port", mtu=1500, mac=MAC, network="m", address="10.0.0.64/24", routes=ROUTES)
BOND = (
    LinkPlan(name="nic1", kind="port", mtu=1500, mac=MAC),
    LinkPlan(name="nic2", kind="port", mtu=1500, mac=OTHER),
    LinkPlan(
        name="bond0", kind="bond", mtu=1500, mac=MAC, members=("nic1", "nic2"), mode="active-backup", network="m",
        address="10.0.0.64/24", routes=ROUTES,
    ),
)  # fmt: skip
DEFAULT = {"dst": "default", "gateway": "10.0.0.1", "dev": "ens3", "protocol": "static"}


def link(name: str, mac: str, *addresses: str, **more: Any) -> dict[str, Any]:
    info = [
        {"family": "inet", "local": one.partition("/")[0], "prefixlen": int(one.partition("/")[2])} for one in addresses
    ]
    return {"ifname": name, "address": mac, "mtu": 1500, "addr_info": info, **more}


class Host:
    """Stands for the programs of a host: what they answer, and what they were called with."""

    def __init__(self) -> None:
        self.links = [link("lo", "00:00:00:00:00:00"), link("ens3", MAC, "10.0.0.64/24"), link("ens4", OTHER)]
        self.routes: list[dict[str, Any]] = [DEFAULT]
        self.active = {"systemd-networkd.service"}
        self.calls: list[str] = []

    def run(self, argv: list[str], **_: object) -> str:
        self.calls.append(" ".join(argv))
        if argv[0] == "ip":
            return json.dumps(self.links if "address" in argv else self.routes)
        return ""

    def attempt(self, argv: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        self.calls.append(" ".join(argv))
        asked = argv[:2] == ["systemctl", "is-active"] or argv[:3] == ["systemctl", "--quiet", "is-active"]
        if not asked:
            return subprocess.CompletedProcess(argv, 0, "", "")
        active = argv[-1] in self.active
        return subprocess.CompletedProcess(argv, 0 if active else 3, "active\n" if active else "inactive\n", "")


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Host:
    found = Host()
    for module in (network, network_links):
        monkeypatch.setattr(module, "run", found.run)
        monkeypatch.setattr(module, "attempt", found.attempt)
    monkeypatch.setattr(units, "run", found.run)
    monkeypatch.setattr(units, "MARKS", tmp_path / "marks")
    monkeypatch.setattr(network_steps, "attempt", found.attempt)
    monkeypatch.setattr(network_steps, "PATIENCE", 0.0)
    monkeypatch.setattr(ownership, "FILE", tmp_path / "site")
    for name in ("DIRECTORY", "SETTINGS", "STATE", "PROGRAM", "BOOT_UNIT"):
        monkeypatch.setattr(network, name, tmp_path / name.lower())
    monkeypatch.setattr(network_links, "ROOT", tmp_path)
    monkeypatch.setattr(network_links, "OURS", tmp_path / "etc/ours")
    network.SETTINGS.write_text("# Written by groundup.cloud.\n" + network.SETTINGS_TEXT)
    return found


def wanted(*links: LinkPlan) -> dict[str, Any]:
    plain = [json.loads(json.dumps(asdict(one))) for one in links or (PORT,)]
    return {"site": "lab", "links": plain, "dns_servers": [], "seconds": 0, "applied_before": True}


def in_place(*links: LinkPlan) -> None:
    network.DIRECTORY.mkdir(exist_ok=True)
    for name, text in networkd.files(wanted(*links)["links"]).items():
        (network.DIRECTORY / name).write_text(text)


def test_a_prediction_shows_each_file_and_starts_nothing(host: Host) -> None:
    found = network_steps.apply(Changes(check=True), wanted())
    assert (found["changed"], found["pending"]) == (True, False)
    (diff,) = found["diff"]
    assert "Address=10.0.0.64/24" in diff["after"]
    assert not network.STATE.exists()
    assert not [call for call in host.calls if "systemd-run" in call]


def test_what_is_in_place_is_left_alone(host: Host) -> None:
    in_place()
    changes = Changes(check=False)
    assert network_steps.apply(changes, wanted()) == {"changed": False, "changes": [], "diff": [], "pending": False}
    assert changes.warnings == []
    assert not [call for call in host.calls if "systemd-run" in call]


def test_an_address_that_somebody_took_off_is_a_warning(host: Host) -> None:
    in_place()
    host.links[1]["addr_info"] = []
    changes = Changes(check=False)
    network_steps.apply(changes, wanted())
    assert changes.warnings == ["the network is not as planned: ens3 lacks 10.0.0.64/24"]


def test_verification_names_files_and_links_that_are_not_as_planned_and_changes_nothing(host: Host) -> None:
    in_place()
    changes = Changes(check=False)
    assert network_steps.verify(changes, wanted())["changed"] is False
    host.links[1]["addr_info"] = []
    (network.DIRECTORY / "10-groundup-mgmt0.network").write_text("[Match]\n")
    network.STATE.mkdir()
    (network.STATE / "taken-back").write_text("nobody confirmed it\n")
    with pytest.raises(GroundupError) as error:
        network_steps.verify(changes, wanted())
    assert "10-groundup-mgmt0.network; ens3 lacks 10.0.0.64/24" in str(error.value)
    assert "taken back: nobody confirmed it" in str(error.value)
    assert not [call for call in host.calls if "systemd-run" in call]


def test_a_change_is_armed_before_it_is_made_and_has_both_sets(host: Host) -> None:
    in_place()
    found = network_steps.apply(Changes(check=False), wanted(*BOND))
    assert (found["changed"], found["pending"]) == (True, True)
    runs = [call for call in host.calls if call.startswith("systemd-run")]
    assert [f"--unit={unit}" in call for unit, call in zip((network.TIMER, network.APPLY), runs, strict=True)]
    assert [path.name for path in (network.STATE / "former").iterdir()] == ["10-groundup-mgmt0.network"]
    assert len(list((network.STATE / "new").iterdir())) == 4
    assert (network.STATE / "new.gone").read_text() == ""
    assert (network.STATE / "former.gone").read_text() == "bond0\n"  # goes when the change does
    assert (network.STATE / "pending").exists()
    assert list(network.DIRECTORY.iterdir()) == [network.DIRECTORY / "10-groundup-mgmt0.network"]


@pytest.mark.usefixtures("host")
def test_an_address_that_moves_is_taken_off_where_it_was_and_back() -> None:
    in_place()
    network_steps.apply(Changes(check=False), wanted(*BOND))
    assert (network.STATE / "new.stale").read_text() == (
        "address delete 10.0.0.64/24 dev ens3\nroute flush exact 0.0.0.0/0 via 10.0.0.1 dev ens3\n"
    )
    assert (network.STATE / "former.stale").read_text() == (
        "address delete 10.0.0.64/24 dev bond0\nroute flush exact 0.0.0.0/0 via 10.0.0.1 dev bond0\n"
    )


def test_an_address_that_another_owner_gave_moves_with_the_plan(host: Host) -> None:
    host.active = set()
    network_steps.apply(Changes(check=False), wanted(*BOND))
    assert (network.STATE / "new.stale").read_text() == "address delete 10.0.0.64/24 dev ens3\n"


def test_a_host_that_networkd_did_not_run_gets_back_what_it_had(host: Host) -> None:
    host.active = set()
    network_steps.apply(Changes(check=False), wanted())
    lines = (network.STATE / "former.off").read_text().splitlines()
    assert "address replace 10.0.0.64/24 dev ens3" in lines
    assert "route replace default via 10.0.0.1 dev ens3" in lines


def test_who_renames_the_mark_first_decides(host: Host) -> None:
    network_steps.apply(Changes(check=False), wanted())
    assert network_steps.confirm(Changes(check=False), wanted())["pending"] is True  # not made yet
    (network.STATE / "applied").touch()
    assert network_steps.confirm(Changes(check=False), wanted())["pending"] is False
    assert f"systemctl stop {network.TIMER}.timer" in host.calls
    assert network.confirm() is False


@pytest.mark.usefixtures("host")
def test_a_connection_that_may_be_older_than_the_change_confirms_nothing() -> None:
    network_steps.apply(Changes(check=False), wanted())
    (network.STATE / "applied").touch()
    found = network_steps.confirm(Changes(check=False), {**wanted(), "applied_before": False})
    assert (found["pending"], found["applied"]) == (True, True)
    assert network.pending()


def test_links_that_are_not_as_planned_have_the_change_taken_back(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    network_steps.apply(Changes(check=False), wanted(*BOND))
    (network.STATE / "applied").touch()
    monkeypatch.setattr(network, "wait_until", lambda pending, **_: not pending())  # the timer's program is not run
    with pytest.raises(GroundupError, match="taken back"):
        network_steps.confirm(Changes(check=False), wanted(*BOND))
    (asked,) = [call for call in host.calls if f"--unit={network.TIMER}-now" in call]
    assert "back the links did not become as planned: there is no bond bond0" in asked


def test_a_change_that_is_being_taken_back_keeps_its_reason(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    network_steps.apply(Changes(check=False), wanted(*BOND))
    (network.STATE / "applied").touch()
    (network.STATE / "pending").rename(network.STATE / "reverting")

    def reverted(_: object, **__: object) -> bool:
        (network.STATE / "reverting").write_text("nobody confirmed it\n")
        (network.STATE / "reverting").rename(network.STATE / "taken-back")
        return False

    monkeypatch.setattr(network, "wait_until", reverted)
    with pytest.raises(GroundupError, match="taken back: nobody confirmed it"):
        network_steps.confirm(Changes(check=False), wanted(*BOND))
    assert not [call for call in host.calls if f"--unit={network.TIMER}-now" in call]


@pytest.mark.usefixtures("host")
def test_the_next_run_says_that_the_change_was_taken_back_and_why() -> None:
    in_place()
    network.STATE.mkdir()
    (network.STATE / "taken-back").write_text("nobody confirmed it\n")
    changes = Changes(check=False)
    network_steps.apply(changes, wanted())
    assert changes.warnings == ["the last change of this host's network was taken back: nobody confirmed it"]
    with pytest.raises(GroundupError, match="taken back: nobody confirmed it"):
        network_steps.confirm(Changes(check=False), wanted())


def test_a_change_that_is_still_to_be_decided_is_waited_for_and_then_refused(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert host.calls == []
    monkeypatch.setattr(network, "wait_until", lambda pending, **_: pending())
    network.STATE.mkdir()
    (network.STATE / "pending").touch()
    with pytest.raises(GroundupError, match="neither confirmed nor taken back"):
        network_steps.apply(Changes(check=False), wanted())


def test_a_port_that_the_host_does_not_have_is_refused(host: Host) -> None:
    host.links.pop()
    with pytest.raises(GroundupError, match=OTHER) as error:
        network_steps.apply(Changes(check=True), wanted(*BOND))
    assert f"ens3 {MAC}" in str(error.value)


def test_a_member_is_known_by_its_permanent_address(host: Host) -> None:
    kind = {"linkinfo": {"info_kind": "bond"}}
    host.links[1:] = [
        link("ens3", MAC, master="bond0", permaddr=MAC),
        link("ens4", MAC, master="bond0", permaddr=OTHER),
        link("bond0", MAC, "10.0.0.64/24", **kind),
    ]
    assert network_links.differences(wanted(*BOND)["links"], network_links.Links.read()) == []


@pytest.mark.parametrize(
    ("place", "text", "said"),
    [
        ("network/interfaces", "auto lo\niface lo inet loopback\niface ens3 inet dhcp\n", "ifupdown"),
        ("network/interfaces.d/50-cloud-init", "iface ens3 inet dhcp\n", "ifupdown"),
        ("netplan/01.yaml", "network: {}\n", "netplan"),
        ("ours/05-mine.network", "[Match]\n", "files that are not ours"),
    ],
)
def test_a_network_with_another_owner_is_refused(host: Host, place: str, text: str, said: str) -> None:
    assert host.calls == []
    path = network_links.ROOT / "etc" / place
    path.parent.mkdir(parents=True)
    path.write_text(text)
    with pytest.raises(GroundupError, match=said):
        network_steps.apply(Changes(check=True), wanted())


def test_a_host_that_networkmanager_runs_is_refused(host: Host) -> None:
    host.active.add("NetworkManager.service")
    with pytest.raises(GroundupError, match="NetworkManager"):
        network_steps.apply(Changes(check=True), wanted())


def test_a_loopback_of_ifupdown_is_nobody_s_network(host: Host) -> None:
    (network_links.ROOT / "etc/network").mkdir(parents=True)
    (network_links.ROOT / "etc/network/interfaces").write_text("auto lo\niface lo inet loopback\n")
    assert network_steps.apply(Changes(check=True), wanted())["changed"] is True
    assert host.calls


def test_the_program_that_takes_a_change_back_is_one_that_a_shell_reads() -> None:
    subprocess.run(["/bin/sh", "-n"], input=network.SWITCH, text=True, check=True)
