"""Who reaches OVN's databases: a chassis' certificate opens every listener, so addresses decide."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.module_utils._host import guard as _guard
from ansible_collections.groundup.cloud.plugins.module_utils._host import units
from ansible_collections.groundup.cloud.plugins.module_utils._ovn import guard
from ansible_collections.groundup.cloud.plugins.plugin_utils.layers.ports import PORTS

MEMBERS, CLIENTS = ["10.0.0.12", "10.0.0.11"], ["10.0.0.21", "10.0.0.11", "10.244.0.0/16"]
TEXT = guard.rules(members=MEMBERS, clients=CLIENTS)


def rule(*words: str) -> str:
    """Return the one rule with these words."""
    (found,) = [line.strip() for line in TEXT.splitlines() if all(word in line for word in words)]
    return found


def test_members_talk_to_members_alone() -> None:
    assert rule("6643", "accept") == "ip saddr { 10.0.0.11, 10.0.0.12 } tcp dport { 6643, 6644 } accept"


def test_listeners_without_a_role_are_for_nodes_and_pods_of_the_cluster() -> None:
    found = rule("16642", "accept")
    assert found == "ip saddr { 10.0.0.11, 10.0.0.12, 10.0.0.21, 10.244.0.0/16 } tcp dport { 6641, 16642 } accept"


def test_the_listener_of_chassis_is_nobodys_business_and_every_other_port_is_closed() -> None:
    assert rule("drop").startswith("tcp dport { 6641, 6643, 6644, 16642 } drop")
    assert "6642" not in TEXT.replace("16642", "")
    assert set(guard.guarded()) == {
        one.port for name, one in PORTS.items() if name.startswith("ovn-") and one.clients != "hosts"
    }


def test_the_host_itself_is_let_in_first() -> None:
    assert TEXT.index("iif lo accept") < TEXT.index("saddr")


def test_the_table_is_replaced_in_one_step_and_no_other_rule_is_touched() -> None:
    assert "flush" not in TEXT
    assert TEXT.index("delete table inet groundup_ovn") < TEXT.index("chain input")


def test_addresses_of_version_6_have_a_rule_of_their_own() -> None:
    text = guard.rules(members=["fd00::11", "10.0.0.11"], clients=[])
    assert "ip6 saddr { fd00::11 } tcp dport { 6643, 6644 } accept" in text


class Host:
    """systemd, and what the kernel lists."""

    def __init__(self, listed: str) -> None:
        self.listed = listed
        self.verbs: list[str] = []
        self.active = False

    def attempt(self, argv: Sequence[str], **_: object) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess(argv, 0 if self.listed else 1, self.listed, "")

    def control(self, verb: str, unit: str) -> None:
        self.verbs.append(f"{verb} {unit}")
        self.active, self.listed = True, guard.GUARD.rules.read_text()


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Host:
    found = Host("")
    here = replace(guard.GUARD, rules=tmp_path / "ovn-ports.nft", unit=tmp_path / guard.GUARD.unit.name)
    monkeypatch.setattr(guard, "GUARD", here)
    monkeypatch.setattr(_guard, "attempt", found.attempt)
    monkeypatch.setattr(shutil, "which", lambda _: "/usr/sbin/nft")
    monkeypatch.setattr(units, "MARKS", tmp_path / "marks")
    monkeypatch.setattr(units, "control", found.control)
    monkeypatch.setattr(units, "properties", lambda *_: {
        "ActiveState": "active" if found.active else "inactive", "UnitFileState": "enabled",
    })  # fmt: skip
    return found


def converged(*, clients: Sequence[str] = CLIENTS, check: bool = False) -> list[str]:
    changes = Changes(check=check)
    guard.GUARD.converge(changes, guard.rules(members=MEMBERS, clients=clients))
    return changes.done


def test_rules_are_loaded_once_and_again_when_a_node_joins_or_they_are_flushed(host: Host) -> None:
    converged()
    assert host.verbs == ["start groundup-ovn-ports.service"]
    assert converged() == []
    converged(clients=[*CLIENTS, "10.0.0.22"])
    assert host.verbs[1:] == ["restart groundup-ovn-ports.service"]
    host.listed = ""
    assert "load ovn-ports.nft again" in converged(clients=[*CLIENTS, "10.0.0.22"])
    assert host.verbs[2:] == ["restart groundup-ovn-ports.service"]


def test_other_rules_than_planned_are_not_in_force(host: Host) -> None:
    host.listed = guard.rules(members=MEMBERS, clients=[])
    assert guard.GUARD.in_force(host.listed)
    assert not guard.GUARD.in_force(TEXT)


def test_a_guard_that_closes_nothing_is_in_force_until_a_port_is_closed(host: Host) -> None:
    nothing = guard.GUARD.text([], ports=[])
    host.listed = 'table inet groundup_ovn {\n\tchain input {\n\t\tiif "lo" accept\n\t}\n}\n'  # as nft lists it
    assert guard.GUARD.in_force(nothing)
    host.listed = TEXT
    assert not guard.GUARD.in_force(nothing)
    host.listed = ""
    assert not guard.GUARD.in_force(nothing), "the table is not there"


def test_a_dry_run_loads_nothing(host: Host) -> None:
    done = converged(check=True)
    assert f"write {guard.GUARD.rules}" in done
    assert (host.verbs, guard.GUARD.rules.exists()) == ([], False)
