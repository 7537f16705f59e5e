"""northd beside databases that were made anew: it forgets the former ones, and deletes no flows."""

from __future__ import annotations

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.module_utils._host.units import Unit
from ansible_collections.groundup.cloud.plugins.module_utils._ovn import northd, status
from ansible_collections.groundup.cloud.plugins.module_utils._ovn.databases import DATABASES, NB, NORTHD, SB

from .test_converge import Host, central, converged, host

__all__ = ["host"]


@pytest.fixture
def members(host: Host) -> Host:
    """A control host with both databases, and with networks."""
    for one in DATABASES:
        host.has(one, cluster=f"cid-{one.short}")
    host.rows = {"Logical_Switch": 2, "Datapath_Binding": 2}
    converged(central("maintain"))
    host.verbs.clear()
    return host


def test_northd_that_refuses_a_database_whose_member_works_forgets_the_former_one(members: Host) -> None:
    members.refused = {"nb", "sb"}
    predicted = converged(central("maintain"), check=True)["changes"]
    assert members.verbs == []
    assert converged(central("maintain"))["changes"] == predicted
    assert predicted == [f"have northd forget the former cluster of {one.name}" for one in (NB, SB)]
    assert members.verbs == ["nb-cluster-state-reset", "sb-cluster-state-reset"]
    assert converged(central("maintain"))["changes"] == []


def test_northd_that_reaches_no_member_is_left_alone(members: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    members.refused = {"sb"}
    monkeypatch.setattr(status, "ask", lambda _: None)
    assert converged(central("maintain"))["changes"] == []


def test_northd_ends_before_a_northbound_database_is_made_anew(members: Host) -> None:
    NB.file.unlink()
    assert converged(central("maintain"), check=True)["changes"] == [f"stop {NORTHD}"]
    assert converged(central("maintain"))["waits"] == ["nb"]
    assert members.verbs == [f"stop {NORTHD}"]
    assert converged(central("maintain"))["changes"] == []


@pytest.mark.parametrize("runs", [False, True])
def test_northd_waits_while_the_northbound_database_is_empty_and_there_are_flows(members: Host, runs: bool) -> None:
    members.rows["Logical_Switch"] = 0
    if runs:  # it refuses the new one, because it knew the former
        members.refused = {"nb"}
    else:
        members.running.discard(NORTHD)
    said = converge_warnings()
    assert "it would delete the flows of 2 networks and routers: fill OVN_Northbound first" in said[0]
    assert members.verbs == [f"stop {NORTHD}"] * runs
    members.rows["Logical_Switch"] = 1
    assert converge_warnings() == []
    assert members.verbs[-1] == f"start {NORTHD}"


@pytest.mark.parametrize("runs", [False, True])
def test_a_database_that_does_not_answer_is_not_taken_for_one_with_networks(
    members: Host, monkeypatch: pytest.MonkeyPatch, runs: bool
) -> None:
    members.refused = {"nb"}
    if not runs:
        members.running.discard(NORTHD)
    monkeypatch.setattr(northd, "_rows", lambda *_: None)
    assert [one for one in converge_warnings() if "is not known" not in one] == []
    assert members.verbs == [], "neither started, stopped nor told to forget"


def converge_warnings() -> list[str]:
    changes = Changes(check=False)
    northd.converge(changes, Unit(changes, NORTHD))
    return changes.warnings


def test_the_last_network_of_a_cloud_may_go(members: Host) -> None:
    """northd has read the empty database already: what it deletes is what tenants deleted."""
    members.rows["Logical_Switch"] = 0
    assert converge_warnings() == []
    assert members.verbs == []


def test_a_cloud_without_networks_needs_none_to_start(members: Host) -> None:
    members.rows.clear()
    members.running.discard(NORTHD)
    assert converge_warnings() == []
    assert NORTHD in members.running
