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

from .host import Monitors, node, on_device

CEPH: dict[str, Any] = {
    "rules": [{"name": "host-ssd", "failure_domain": "host", "device_class": "ssd"}],
    "pools": {"images": {"name": "images", "rule": "host-ssd", "replicas": 2}},
}
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
            return {
                "nodes": [*hosts, *({**one, "type": "osd", "name": f"osd.{one['id']}"} for one in self.osds.values())]
            }
        return super().ask(prefix, **arguments)

    def attempt(self, prefix: str, **arguments: Any) -> tuple[int, Any, str]:
        if prefix == "osd safe-to-destroy":
            return 0, {"active": [int(one) for one in arguments["ids"] if int(one) not in self.safe]}, ""
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


def drained(cluster: Cluster, name: str = "storage-2", *, check: bool = False) -> list[str]:
    changes = Changes(check=check)
    drain.drain(cluster, changes, name, ceph=CEPH, force=(), timeout=0)  # type: ignore[arg-type]  # a cluster's double
    return changes.done


def retired(cluster: Cluster, name: str = "storage-2", **other: Any) -> list[str]:
    changes = Changes(check=other.pop("check", False))
    options: dict[str, Any] = {"fsid": "-", "here": False, "force": (), **other}
    retire.retire(cluster, changes, name, **options)  # type: ignore[arg-type]
    return changes.done


def replaced(cluster: Cluster, number: int = 0, **other: Any) -> list[str]:
    changes = Changes(check=other.pop("check", False))
    options: dict[str, Any] = {"force": (), **other}
    replace.give_up(cluster, changes, options.pop("of", node()), number, **options)  # type: ignore[arg-type]
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


def test_a_weight_that_somebody_else_took_is_not_given_back() -> None:
    cluster, changes = Cluster(), Changes(check=False)
    cluster.osds[1]["crush_weight"] = 0
    drain.undrain(cluster, changes, "storage-2", timeout=0)  # type: ignore[arg-type]
    assert changes.done == []


@pytest.mark.parametrize(
    ("hosts", "used", "states", "said"),
    [
        (2, 1, CLEAN, r"2 copies of pools images, no two in one host, and OSDs in 1 would stay"),
        (3, 6, CLEAN, r"6\.0 GiB on ssd would move, and osd\.0 on \S+, osd\.2 on storage-3 would be near full \(85%\)"),
        (
            3, 1, {"pg_summary": {"num_pg_by_state": [{"name": "active+undersized", "num": 4}]}},
            r"not all data have all their copies now: 4 PGs active\+undersized",
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


def test_a_drain_whose_copies_find_no_room_says_so_at_once() -> None:
    cluster = Cluster()
    drained(cluster)
    cluster.answers["pg stat"] = {"pg_summary": {"num_pg_by_state": [{"name": "active+backfill_toofull", "num": 4}]}}
    with pytest.raises(GroundupError, match="the drain of storage-2 stands still: 4 PGs") as caught:
        drained(cluster)
    assert "storage_undrain -e undrain_machine=storage-2" in str(caught.value)


def test_a_host_that_nobody_knows_is_not_drained() -> None:
    with pytest.raises(GroundupError, match="the cluster knows no OSD of it"):
        drained(Cluster(), "storage-9")


def test_a_host_with_data_does_not_leave_and_the_verb_that_empties_it_is_named() -> None:
    cluster = Cluster()
    with pytest.raises(GroundupError, match=r"data on osd\.1: first ansible-playbook groundup\.cloud\.storage_drain"):
        retired(cluster, here=True, force=("lost",))
    assert cluster.told == []


def test_an_empty_host_leaves_with_all_that_the_cluster_has_of_it() -> None:
    cluster = Cluster()
    drained(cluster)
    cluster.osds[1]["status"] = "down"
    said = retired(cluster, here=True, check=True)
    assert said == [
        "remove osd.1 from the cluster", "remove monitor storage-2 from the quorum",
        "remove the place of storage-2 from the CRUSH map", "remove the key of mgr.storage-2",
    ]  # fmt: skip
    assert retired(cluster, here=True) == said
    assert ("mgr fail", {"who": "storage-2"}) in cluster.told, "the other manager need not miss it first"
    assert cluster.records == {}, "no record of a host that is gone"


def test_a_monitor_that_ceph_needs_stays_whatever_is_accepted() -> None:
    cluster = Cluster()
    drained(cluster)
    cluster.code = 16
    with pytest.raises(GroundupError, match="its monitor is needed: it would break quorum") as caught:
        retired(cluster, here=True, force=("lost",))
    assert "accept it" not in str(caught.value)


def test_a_running_host_that_cannot_be_reached_does_not_leave() -> None:
    cluster = Cluster()
    drained(cluster)
    with pytest.raises(GroundupError, match=r"cannot be reached, and still running: osd\.1"):
        retired(cluster)


@pytest.mark.parametrize(("state", "accepted"), [("active+undersized", True), ("down", False)])
def test_a_dead_host_s_copies_are_given_up_by_consent_unless_they_may_be_the_only_ones(
    state: str, *, accepted: bool
) -> None:
    cluster = Cluster()
    cluster.osds[1]["status"] = "down"
    cluster.answers["pg stat"] = {"pg_summary": {"num_pg_by_state": [{"name": state, "num": 4}]}}
    with pytest.raises(GroundupError, match="in use") as caught:
        retired(cluster)
    assert ("accept it with -e '{\"retire_force\": [lost]}'" in str(caught.value)) is accepted
    if accepted:
        assert "remove osd.1 from the cluster" in retired(cluster, force=("lost",))
    else:
        with pytest.raises(GroundupError, match="the only copies may be here"):
            retired(cluster, force=("lost",))


def lost(cluster: Cluster, *, state: str = "active+undersized") -> None:
    """Have the first host's OSD be down."""
    cluster.osds[0]["status"] = "down"
    cluster.answers["osd dump"]["osds"] = [{"osd": 0, "uuid": node().osds[0].uuid}]
    cluster.answers["pg stat"] = {"pg_summary": {"num_pg_by_state": [{"name": state, "num": 4}]}}


def test_an_osd_that_lost_its_data_gives_up_nothing_but_its_key(host: list[str]) -> None:
    cluster = Cluster()
    lost(cluster)
    assert replaced(cluster, check=True) == replaced(cluster)
    assert host == ["ceph-osd@0.service"]
    assert [prefix for prefix, _ in cluster.told] == ["osd destroy"]
    cluster.osds[0]["status"] = "destroyed"
    assert replaced(cluster) == [], "a run that was killed went this far"


def test_an_osd_with_data_needs_consent(tmp_path: Path) -> None:
    cluster = Cluster()
    lost(cluster)
    (tmp_path / "ceph-0").mkdir()
    (tmp_path / "ceph-0/fsid").touch()
    with pytest.raises(GroundupError, match=r"its disk has the OSD's data.*\n(.*\n)*.*replace_force.*copy"):
        replaced(cluster)
    assert (tmp_path / "ceph-0").exists()
    replaced(cluster, force=("copy",))
    assert not (tmp_path / "ceph-0").exists()


@pytest.mark.parametrize(
    ("state", "of", "said"),
    [
        ("active+undersized", node(osds=()), "it is no OSD that the site file gives storage-1"),
        ("down", node(), "4 PGs down: the only copies may be on it"),
    ],
)
def test_an_osd_is_not_given_up_whatever_is_accepted(state: str, of: Any, said: str) -> None:
    cluster = Cluster()
    lost(cluster, state=state)
    with pytest.raises(GroundupError, match=said):
        replaced(cluster, of=of, force=("copy",))
    assert cluster.told == []


def test_an_osd_of_another_host_is_not_replaced() -> None:
    with pytest.raises(GroundupError, match=r"storage-1 has no osd\.2"):
        replaced(Cluster(), 2)


def test_a_new_osd_takes_the_number_that_was_destroyed_on_its_host() -> None:
    cluster = Cluster()
    assert replace.number_of(cluster, "storage-1", "new") is None  # type: ignore[arg-type]
    cluster.osds[0]["status"] = cluster.osds[2]["status"] = "destroyed"
    assert replace.number_of(cluster, "storage-1", "new") == 0  # type: ignore[arg-type]
    cluster.answers["osd dump"]["osds"] = [{"osd": 7, "uuid": "begun"}]
    assert replace.number_of(cluster, "storage-1", "begun") is None, "a run that was killed had begun it"  # type: ignore[arg-type]


def test_a_disk_that_was_exchanged_has_lost_its_osd(tmp_path: Path) -> None:
    device = tmp_path / "device"
    osd = on_device(device)
    (tmp_path / "ceph-3").mkdir()
    (tmp_path / "ceph-3/fsid").touch()
    device.write_bytes(f"bluestore block device\n{osd.uuid}\n".encode() + bytes(4096))
    assert replace.holds(osd, 3)
    device.write_bytes(bytes(4096))
    assert not replace.holds(osd, 3)
    device.unlink()
    assert not replace.holds(osd, 3), "nor does one that was pulled"
