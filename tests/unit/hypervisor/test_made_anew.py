"""A southbound database made anew: who takes it when, and that flows stay while it is empty."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.module_utils._base.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.module_utils._host import ownership, units
from ansible_collections.groundup.cloud.plugins.module_utils._hypervisor import converge, ovn, services, southbound

NAME = "hypervisor-1"
FORGET = "have ovn-controller forget the former southbound database"
RESTART = f"restart {services.OVN_AGENT}"


class Host:
    """A hypervisor: what its ovn-controller says, and what the database does."""

    def __init__(self) -> None:
        self.said = ["connected"]  # the last for good
        self.flows: str | None = "one\ntwo\n"
        self.registered = True
        self.inactive = ""
        self.ran: list[str] = []

    def attempt(self, argv: Sequence[str], **_: object) -> subprocess.CompletedProcess[str]:
        if argv[0] == "ovn-sbctl":
            registered = "neutron:ovn-neutron-agent-id=one\n" if self.registered else "\n"
            text = self.flows if "Datapath_Binding" in argv else registered
            return subprocess.CompletedProcess(argv, int(self.flows is None), text or "", "")
        if argv[0] == "ovs-vsctl":
            return subprocess.CompletedProcess(argv, 0, f'"{NAME}"\n', "")
        said = self.said.pop(0) if len(self.said) > 1 else self.said[0]
        return subprocess.CompletedProcess(argv, 0, f"{said}\n", "")

    def run(self, argv: Sequence[str], **_: object) -> str:
        self.ran.append(argv[-1])
        self.said, self.registered = ["connected"], False
        return ""

    def control(self, verb: str, unit: str) -> None:
        self.ran.append(f"{verb} {unit}")
        self.registered = True

    def reconnected(self, *, check: bool = False) -> list[str]:
        changes = Changes(check=check)
        converge.reconnect(changes, {"site": "lab", "name": NAME})
        return changes.done


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Host:
    made = Host()
    monkeypatch.setattr(ovn, "attempt", made.attempt)
    monkeypatch.setattr(ovn, "run", made.run)
    monkeypatch.setattr(ovn, "CONNECTED", 0.0)
    monkeypatch.setattr(ovn, "SETTLES", 0.0)
    monkeypatch.setattr(units, "MARKS", tmp_path)
    monkeypatch.setattr(units, "control", made.control)
    monkeypatch.setattr(units, "properties", lambda unit, *_: {
        "ActiveState": "inactive" if unit == made.inactive else "active", "UnitFileState": "enabled",
    })  # fmt: skip
    monkeypatch.setattr(ownership, "refuse_other", lambda _: None)
    monkeypatch.setattr(southbound, "ask", lambda _: southbound.SouthboundAnswer(kind="refused"))
    return made


def test_a_hypervisor_that_works_is_left_alone(host: Host) -> None:
    assert host.reconnected() == []


def test_who_refuses_the_database_takes_it_once_it_has_flows(host: Host) -> None:
    host.said, host.registered = ["not connected"], False
    assert host.reconnected(check=True) == [FORGET, RESTART]
    assert host.ran == []
    assert host.reconnected() == [FORGET, RESTART]
    assert host.ran == ["sb-cluster-state-reset", RESTART]
    assert host.reconnected() == []


def test_a_moment_of_connection_before_the_refusal_is_none(host: Host) -> None:
    host.said = ["connected", "not connected"]
    assert host.reconnected() == [FORGET, RESTART]


def test_an_empty_database_is_not_taken_and_the_way_on_is_named(host: Host) -> None:
    host.said, host.flows = ["not connected"], ""
    with pytest.raises(GroundupError, match=r"is empty, and not the former one; .* fill the northbound database"):
        host.reconnected()
    assert host.ran == []


def test_a_database_that_answers_nobody_is_a_fault_of_its_own(host: Host) -> None:
    host.said, host.flows = ["not connected"], None
    with pytest.raises(GroundupError, match=r"not connected: .* refuses"):
        host.reconnected()
    assert host.ran == []


def test_an_agent_is_restarted_where_ovn_controller_was_restarted_by_hand(host: Host) -> None:
    host.registered = False
    assert host.reconnected() == [RESTART]


def test_a_host_whose_services_do_not_run_yet_has_nothing_to_forget(host: Host) -> None:
    host.inactive, host.said = ovn.UNIT, ["not connected"]
    assert host.reconnected() == []
