"""A control host that is to be erased leaves OVN's databases, if the members that stay are a quorum, by their word."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.module_utils._base.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.module_utils._ovn import stale, status
from ansible_collections.groundup.cloud.plugins.module_utils._ovn.databases import DATABASES, Database

KNOWN = {"nb": "cid", "sb": "cid"}
PEERS = ("10.0.0.11", "10.0.0.12")


@dataclass
class Raft:
    """Both clusters, asked on the host 10.0.0.11; `down` members do not answer."""

    members: dict[str, list[str]] = field(
        default_factory=lambda: {one.short: [one.member(f"10.0.0.1{n}") for n in (1, 2, 3)] for one in DATABASES}
    )
    down: set[str] = field(default_factory=set)
    speaks: bool = True

    def ask(self, database: Database) -> status.Status | None:
        return status.Status(
            cluster="cid", state="cluster member", role="leader", leader="self", election_timer=4000, behind=0,
            servers=dict.fromkeys(self.members[database.short], "abcd"), own=database.member("10.0.0.11"),
        ) if self.speaks else None  # fmt: skip

    def elsewhere(self, _: Database, addresses: Iterable[str]) -> dict[str, str]:
        return {one: "cid" for one in addresses if one not in self.down}

    def run(self, argv: list[str]) -> str:
        database = next(one for one in DATABASES if one.name in argv)
        assert "cluster/kick" in argv
        self.members[database.short].remove(argv[-1])
        return ""


@pytest.fixture
def raft(monkeypatch: pytest.MonkeyPatch) -> Raft:
    found = Raft()
    monkeypatch.setattr(status, "ask", found.ask)
    monkeypatch.setattr(status, "elsewhere", found.elsewhere)
    monkeypatch.setattr(stale, "run", found.run)
    monkeypatch.setattr(stale, "PATIENCE", 0.0)
    return found


def left(name: str = "control-3", address: str = "10.0.0.13", *, check: bool = False) -> Changes:
    changes = Changes(check=check)
    stale.leave(changes, name=name, address=address, peers=PEERS, clusters=KNOWN)
    return changes


def test_two_control_hosts_that_leave_one_after_the_other_leave_the_third_a_quorum(raft: Raft) -> None:
    assert left().done == [f"remove the member of {one.name} on control-3" for one in DATABASES]
    raft.down = {"10.0.0.13"}  # erased
    assert left("control-2", "10.0.0.12").done
    assert raft.members == {one.short: [one.member("10.0.0.11")] for one in DATABASES}
    assert left("control-2", "10.0.0.12").done == [], "a killed run goes on"


def test_one_that_the_others_cannot_spare_is_refused_before_anything_is_changed(raft: Raft) -> None:
    raft.down = {"10.0.0.12"}
    with pytest.raises(
        GroundupError, match=r"cannot do without control-3: of the 2 members that stay, 1 are"
    ) as refused:
        left()
    assert "not connected: ssl:10.0.0.12:6643" in refused.value.where
    assert all(len(found) == len(PEERS) + 1 for found in raft.members.values())
    assert left("worker-1", "10.0.0.21").done == [], "who is no member is not held by it"


def test_a_member_of_a_second_cluster_does_not_count(raft: Raft, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(status, "elsewhere", lambda _, addresses: dict.fromkeys(addresses, "another"))
    with pytest.raises(GroundupError, match="cannot do without control-3"):
        left()
    assert all(len(found) == len(PEERS) + 1 for found in raft.members.values())


def test_a_member_that_may_be_a_machine_that_left_the_site_file_is_nobody_s(raft: Raft) -> None:
    with pytest.raises(GroundupError, match="which may be control-3"):
        left(address="")
    for database in DATABASES:
        raft.members[database.short].pop()
    assert left(address="").done == []


def test_no_leader_is_no_word(raft: Raft) -> None:
    raft.speaks = False
    with pytest.raises(GroundupError, match="cannot speak for OVN_Northbound"):
        left()


def test_check_mode_asks_and_removes_nothing(raft: Raft) -> None:
    before = {name: list(found) for name, found in raft.members.items()}
    assert left(check=True).done
    assert raft.members == before
