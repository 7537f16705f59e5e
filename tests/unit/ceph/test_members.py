"""Hosts and OSDs that leave: Ceph is asked, data keep their copies, and what a killed run left is made good."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.module_utils._base.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.module_utils._ceph import (
    disk,
    drain,
    health,
    replace,
    retire,
)
from ansible_collections.groundup.cloud.plugins.module_utils._host import units
from ansible_collections.groundup.cloud.plugins.module_utils._plan.ceph import CephPlan

from .host import POOL, Monitors, plan

CEPH = plan(
    rules=[{"name": "host-ssd", "failure_domain": "host", "device_class": "ssd"}],
    pools={"images": POOL | {"replicas": 2}},
)
CLEAN = {"pg_summary": {"num_pg_by_state": [{"name": "active+clean", "num": 9}]}}
GIB_IN_KB = 1024**2


class Cluster(Monitors):
    """A cluster that keeps records and flags, and lets go of OSDs as it is told."""

    def __init__(self, hosts: int = 3, *, used: int = 1) -> None:
        names = [f"storage-{number}" for number in range(1, hosts + 1)]
        self.records: dict[str, str] = {}
        self.osds = {
            number: {
                "id": number, "device_class": "ssd", "crush_weight": 0.01, "status": "up", "pgs": 9,
                "kb_used": used * GIB_IN_KB, "kb": 10 * GIB_IN_KB,
            }
            for number in range(hosts)
        }  # fmt: skip
        self.on = dict(zip(names, self.osds, strict=True))
        self.racks: Sequence[Sequence[int]] = ()  # OSDs of their hosts
        self.safe: set[int] = set()
        self.code = 0
        super().__init__(
            {
                "pg stat": CLEAN,
                "mgr stat": {"active_name": "storage-2"},
                "mon dump": {
                    "mons": [{"name": name, "public_addr": f"10.0.0.{name[-1]}:6789/0"} for name in names[:3]]
                },
                "auth ls": {"auth_dump": [{"entity": "mgr.storage-2"}]},
                "osd dump": {"nearfull_ratio": 0.85, "osds": [], "crush_node_flags": {}},
            }
        )

    def ask(self, prefix: str, **arguments: Any) -> Any:
        if prefix == "config-key dump":
            return {name: value for name, value in self.records.items() if name.startswith(arguments["key"])}
        if prefix == "osd df":
            return {"nodes": list(self.osds.values())}
        if prefix == "osd tree":
            hosts = [{"id": -2 - osd, "name": host, "type": "host", "children": [osd]} for host, osd in self.on.items()]
            racks = [
                {"id": -90 - index, "name": f"rack-{index}", "type": "rack", "children": [-2 - osd for osd in inside]}
                for index, inside in enumerate(self.racks)
            ]
            return {
                "nodes": [
                    *racks,
                    *hosts,
                    *({**one, "type": "osd", "name": f"osd.{one['id']}"} for one in self.osds.values()),
                ]
            }
        return super().ask(prefix, **arguments)

    def attempt(self, prefix: str, **arguments: Any) -> tuple[int, Any, str]:
        if prefix == "osd safe-to-destroy":
            asked = {int(one) for one in arguments["ids"]}
            return 0, {"safe_to_destroy": [*asked & self.safe], "active": [*asked - self.safe]}, ""
        return self.code, None, "it would break quorum" if self.code else ""

    def send(self, prefix: str, **arguments: Any) -> bytes:
        if prefix == "config-key set":
            self.records[arguments["key"]] = arguments["val"]
        elif prefix == "config-key rm":
            del self.records[arguments["key"]]
        elif prefix == "osd crush reweight":
            number = int(arguments["name"].removeprefix("osd."))
            self.osds[number]["crush_weight"] = arguments["weight"]
            (self.safe.discard if arguments["weight"] else self.safe.add)(number)
        return super().send(prefix, **arguments)


@pytest.fixture(autouse=True)
def host(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """Return the units that were stopped."""
    stopped: list[str] = []

    def off(changes: Changes, names: Sequence[str]) -> None:
        stopped.extend(name for name in names if changes.add(f"stop and disable {name}"))

    monkeypatch.setattr(units, "off", off)
    monkeypatch.setattr(health, "PATIENCE", 0.0)
    for module in (drain, replace):
        monkeypatch.setattr(module, "SETTLES", 0.0)
    monkeypatch.setattr(drain, "RETRIES", 0.0)
    monkeypatch.setattr(retire, "DOWN", 0.0)
    monkeypatch.setattr(disk, "OSDS", tmp_path)
    return stopped


def drained(cluster: Cluster, name: str = "storage-2", *, check: bool = False, ceph: CephPlan = CEPH) -> list[str]:
    changes = Changes(check=check)
    drain.drain(cluster, changes, name, ceph=ceph, timeout=0, retries=0)  # type: ignore[arg-type]  # a cluster's double
    return changes.done


def test_a_drain_notes_the_weight_that_undraining_gives_back() -> None:
    cluster = Cluster()
    assert drained(cluster, check=True) == ["osd.1: copy 1.0 GiB in 9 placement groups to other hosts"]
    assert (cluster.told, cluster.records) == ([], {})
    drained(cluster)
    assert cluster.osds[1]["crush_weight"] == 0
    assert drained(cluster) == [], "it goes on and changes nothing"
    assert json.loads(cluster.records["groundup/drained/storage-2"]) == {"1": 0.01}
    changes = Changes(check=False)
    drain.undrain(cluster, changes, "storage-2", timeout=0)  # type: ignore[arg-type]
    assert changes.done == ["osd.1: take data again"]
    assert (cluster.osds[1]["crush_weight"], cluster.records) == (0.01, {})
    drain.undrain(cluster, changes, "storage-2", timeout=0)  # type: ignore[arg-type]
    assert len(changes.done) == 1, "it takes data: nothing is to be done"


@pytest.mark.parametrize(
    ("name", "said"),
    [("storage-2", "no verb drained storage-2"), ("storage2", "the cluster knows no OSD of storage2")],
)
def test_what_no_verb_took_is_not_given_back(name: str, said: str) -> None:
    cluster, changes = Cluster(), Changes(check=False)
    cluster.osds[1]["crush_weight"] = 0
    with pytest.raises(GroundupError, match=said):
        drain.undrain(cluster, changes, name, timeout=0)  # type: ignore[arg-type]
    assert (changes.done, cluster.told) == ([], [])


@pytest.mark.parametrize(
    ("hosts", "used", "states", "said"),
    [
        (2, 1, CLEAN, r"2 copies of pools images, no two in one host, and OSDs in 1 would stay"),
        (3, 6, CLEAN, r"6\.0 GiB on ssd would move, and osd\.0 on \S+, osd\.2 on storage-3 would be near full \(85%\)"),
        (
            3, 1, {"pg_summary": {"num_pg_by_state": [{"name": "active+undersized", "num": 4}]}},
            r"not all data have all their copies now: 4 PGs active\+undersized",
        ),
        (
            3, 1, {"pg_summary": {"num_pg_by_state": [{"name": "active+clean+inconsistent", "num": 1}]}},
            r"not all data have all their copies now: 1 PGs active\+clean\+inconsistent",
        ),
    ],
)  # fmt: skip
def test_a_host_is_not_drained_where_its_data_have_no_other_place(
    hosts: int, used: int, states: object, said: str
) -> None:
    cluster = Cluster(hosts, used=used)
    cluster.answers["pg stat"] = states
    with pytest.raises(GroundupError, match=said):
        drained(cluster)
    assert cluster.told == []


def test_one_disk_that_would_be_near_full_is_enough_whatever_room_the_others_have() -> None:
    cluster = Cluster(4, used=1)
    cluster.osds[3]["kb_used"] = 8.3 * GIB_IN_KB
    with pytest.raises(GroundupError, match=r"and osd\.3 on storage-4 would be near full"):
        drained(cluster)


@pytest.mark.parametrize(
    ("racks", "refused"),
    [(((0, 1), (2, 3), (4, 5)), True), (((0, 1), (2, 3), (4,), (5,)), False), (((1,), (0, 2), (3, 4), (5,)), False)],
    ids=["a copy in each rack", "one more rack", "the leaving host's is its rack's only one"],
)
def test_what_leaves_goes_to_hosts_of_its_own_rack_where_every_rack_has_a_copy(
    racks: Sequence[Sequence[int]], *, refused: bool
) -> None:
    ceph = plan(
        rules=[{"name": "rack-ssd", "failure_domain": "rack", "device_class": "ssd"}],
        pools={"images": POOL | {"rule": "rack-ssd"}},
    )
    cluster = Cluster(6, used=4)
    cluster.racks = racks
    cluster.osds[0]["kb_used"] = 7 * GIB_IN_KB
    if refused:
        with pytest.raises(GroundupError, match=r"4\.0 GiB on ssd would move, and osd\.0 on storage-1 would be near"):
            drained(cluster, ceph=ceph)
    else:
        drained(cluster, ceph=ceph)
    assert (cluster.osds[1]["crush_weight"] != 0) is refused


def test_a_drain_whose_copies_find_no_room_says_so() -> None:
    cluster = Cluster()
    drained(cluster)
    cluster.answers["pg stat"] = {"pg_summary": {"num_pg_by_state": [{"name": "active+backfill_toofull", "num": 4}]}}
    with pytest.raises(GroundupError, match="the drain of storage-2 stands still: 4 PGs") as caught:
        drained(cluster)
    assert "groundup.cloud.undrain -e machine=storage-2" in str(caught.value)


def test_a_drain_that_copies_is_waited_for_though_some_copies_have_no_room_now() -> None:
    cluster = Cluster()
    drained(cluster)
    states = [{"name": f"active+remapped+{what}", "num": 4} for what in ("backfill_toofull", "backfilling")]
    cluster.answers["pg stat"] = {"pg_summary": {"num_pg_by_state": states}}
    with pytest.raises(GroundupError, match="storage-2 is not empty: 4 PGs"):  # in time, not because it stands still
        drained(cluster)


def test_a_host_that_nobody_knows_is_not_drained() -> None:
    with pytest.raises(GroundupError, match="the cluster knows no OSD of it"):
        drained(Cluster(), "storage-9")
