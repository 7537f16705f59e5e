"""A storage host rests only when Ceph can do without it, and noout is taken back when its data are whole."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.module_utils._base.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.module_utils._ceph import health, maintenance

from .test_members import Cluster

MONITORS = ["storage-1", "storage-2", "storage-3"]
RECORD = {"groundup/flags/storage-2": "noout"}


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "PATIENCE", 0.0)


@pytest.fixture
def cluster() -> Cluster:
    cluster = Cluster()
    cluster.answers["quorum_status"] = {"quorum_names": MONITORS}
    return cluster


def rest(cluster: Any, *, check: bool = False) -> list[str]:
    changes = Changes(check=check)
    maintenance.rest(cluster, changes, "storage-2", monitors=MONITORS)
    return changes.done


def rise(cluster: Any) -> list[str]:
    changes = Changes(check=False)
    maintenance.rise(cluster, changes, "storage-2", monitors=MONITORS, timeout=0)
    return changes.done


def test_noout_is_of_the_host_alone_and_a_killed_run_goes_on(cluster: Cluster) -> None:
    assert rest(cluster, check=True) == ["set noout for storage-2"]
    assert cluster.told == []
    rest(cluster)
    assert cluster.told == [
        ("config-key set", {"key": "groundup/flags/storage-2", "val": "noout"}),
        ("osd set-group", {"flags": "noout", "who": ["storage-2"]}),
    ]
    cluster.osds[1]["status"] = "down"
    cluster.answers["pg stat"] = {"pg_summary": {"num_pg_by_state": [{"name": "active+undersized", "num": 4}]}}
    assert rest(cluster) == [], "it rests already, and its OSDs may be down"


@pytest.mark.parametrize(
    ("key", "answer", "said"),
    [
        ("pg stat", {"pg_summary": {"num_pg_by_state": [{"name": "active+undersized", "num": 4}]}}, "4 PGs active"),
        ("quorum_status", {"quorum_names": MONITORS[:2]}, "monitor storage-3 is outside the quorum"),
    ],
)
def test_a_host_does_not_rest_while_the_others_are_not_well(
    cluster: Cluster, key: str, answer: object, said: str
) -> None:
    cluster.answers[key] = answer
    with pytest.raises(GroundupError, match=said):
        rest(cluster)
    assert cluster.told == []


def test_a_host_does_not_rest_when_clients_would_wait_for_it(cluster: Cluster) -> None:
    cluster.code = 16
    with pytest.raises(GroundupError, match="storage-2 cannot rest: it would break quorum"):
        rest(cluster)
    assert cluster.told == []


def test_noout_stays_until_the_osds_are_up_and_the_data_whole(cluster: Cluster) -> None:
    assert rise(cluster) == [], "it does not rest"
    cluster.records = dict(RECORD)
    cluster.osds[1]["status"] = "down"
    with pytest.raises(GroundupError, match=r"storage-2 is not back: down: osd\.1"):
        rise(cluster)
    assert cluster.records == RECORD
    cluster.osds[1]["status"] = "up"
    assert rise(cluster) == ["clear noout of storage-2"]
    assert cluster.records == {}
