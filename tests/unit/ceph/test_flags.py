"""Flags that a verb sets while it works, and cards of what follows from a host that left."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.module_utils._base.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.module_utils._ceph import (
    faults,
    flags,
    members,
    verbs,
)

from .host import MONITORS, PLAN
from .test_members import Cluster


def test_a_flag_is_noted_before_it_is_set_and_taken_back_when_the_work_fails() -> None:
    cluster = Cluster()
    held = flags.held(cluster, "storage-1")  # type: ignore[arg-type]
    held.__enter__()
    assert [prefix for prefix, _ in cluster.told] == ["config-key set", "osd set-group"]
    assert not held.__exit__(ValueError, ValueError("work"), None), "the error goes on"
    assert cluster.told[2:] == [
        ("osd unset-group", {"flags": "noout", "who": ["storage-1"]}),
        ("config-key rm", {"key": "groundup/flags/storage-1"}),
    ]


def test_only_the_flags_of_killed_runs_are_put_back() -> None:
    cluster = Cluster()
    cluster.records = {"groundup/flags/storage-1": "noout", "groundup/flags/gone": "noout"}
    predicted, changes = Changes(check=True), Changes(check=False)
    flags.put_back(cluster, predicted)  # type: ignore[arg-type]
    assert cluster.told == []
    flags.put_back(cluster, changes)  # type: ignore[arg-type]
    assert predicted.done == changes.done
    assert cluster.records == {}
    assert [told["who"] for prefix, told in cluster.told if prefix == "osd unset-group"] == [["storage-1"]]


def test_a_verb_puts_back_the_flag_of_a_killed_run_for_a_run_that_is_refused_does_not_come_to_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cluster = Cluster()
    cluster.records = {"groundup/flags/storage-1": "noout"}
    monkeypatch.setattr(verbs, "connected", lambda *_, **__: nullcontext(cluster))
    given = {"name": "storage-9", "ceph": PLAN, "keys": {"ceph/client.admin": "-"}, "force": []}
    with pytest.raises(GroundupError, match="the cluster knows no OSD of storage-9"):
        verbs.run("undrain", Changes(check=False), {**given, "timeout": 0})
    assert cluster.records == {}


def test_a_flag_of_somebody_else_is_not_ours() -> None:
    cluster = Cluster()
    cluster.answers["osd dump"]["crush_node_flags"] = {"storage-1": ["noout"]}
    with flags.held(cluster, "storage-1"):  # type: ignore[arg-type]
        pass
    assert cluster.told == []


def test_a_host_that_is_in_no_site_file_is_named_with_its_verbs() -> None:
    cluster = Cluster()
    members.refuse_leftover(cluster, ["storage-1", "storage-2", "storage-3"], MONITORS)  # type: ignore[arg-type]
    with pytest.raises(GroundupError, match=r"storage-3 left the site file(.|\n)*cloud\.drain -e machine=storage-3"):
        members.refuse_leftover(cluster, ["storage-1", "storage-2"], MONITORS)  # type: ignore[arg-type]


def test_what_follows_from_a_fault_has_no_card_of_its_own() -> None:
    cluster = Cluster()

    def check(message: str, *details: str) -> dict[str, Any]:
        return {"summary": {"message": message}, "detail": [{"message": one} for one in details], "muted": False}

    cluster.answers["health"] = {
        "checks": {
            "PG_DEGRADED": check("9 pgs undersized", "pg 1.0 is stuck undersized"),
            "OSD_DOWN": check("1 osds down", "osd.1 (root=default,host=storage-2) is down"),
            "POOL_FULL": check("1 pool(s) full", "pool 'volumes' is full (no space)"),
            "OSD_FULL": check("1 full osd(s)", "osd.0 is full"),
            "NEWS": check("something new", "see there"),
            "MUTED": {**check("quiet"), "muted": True},
        }
    }
    full, down, other = faults.cards(cluster)  # type: ignore[arg-type]
    assert (full.what, full.where) == (
        "OSD_FULL: 1 full osd(s)", "layer storage: osd.0 on storage-1, pool volumes",
    )  # fmt: skip
    assert down.where == "layer storage: osd.1 on storage-2"
    assert (other.what, other.where) == ("NEWS: something new", "layer storage: see there")
    said = str(faults.text([full, down, other]))
    assert said.count("clients see: ") == 3


def test_damaged_copies_have_one_card_that_names_their_groups() -> None:
    cluster, damaged = Cluster(), "pg 3.1 is active+clean+inconsistent, acting [0,1,2]"
    cluster.answers["health"] = {
        "checks": {
            "OSD_SCRUB_ERRORS": {"summary": {"message": "1 scrub errors"}},
            "PG_DAMAGED": {"summary": {"message": "1 pg inconsistent"}, "detail": [{"message": damaged}]},
        }
    }
    (card,) = faults.cards(cluster)  # type: ignore[arg-type]
    assert card.where == f"layer storage: {damaged}"
    assert "ceph pg repair" in card.remedy
