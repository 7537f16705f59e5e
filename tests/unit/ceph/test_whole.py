"""The cluster as a whole: what a site file says of a living one that it is not."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.module_utils._base.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.module_utils._ceph import disk, metrics, whole

from .host import GLANCE as CLIENT
from .host import MONITORS, POOL, plan, quorum
from .test_members import Cluster
from .test_pools import FOUND, GLANCE, RULE, WHOLE

RACKED = {f"storage-{number}": {"host": f"storage-{number}", "rack": f"a{number}"} for number in (1, 2, 3)}
CEPH: dict[str, Any] = {
    "managers": [],
    "locations": {name: {"host": name} for name in MONITORS},
    "rules": [RULE],
    "pools": {"images": POOL},
    "clients": {"glance": CLIENT | {"caps": GLANCE}},
}
KEYS = {f"ceph/{name}": f"key of {name}" for name in ("client.admin", "client.bootstrap-osd", "client.glance")}


class Living(Cluster):
    """A cluster that has what the plan has."""

    def __init__(self) -> None:
        super().__init__(3)
        self.above: list[dict[str, Any]] = []  # racks and rooms
        own = {**FOUND, "pool_name": ".mgr", "application_metadata": {"mgr": {}}}
        wanted = whole._wanted(plan(**CEPH), KEYS)
        known = [{"entity": name, "key": wanted.keys[name], "caps": caps} for name, caps in wanted.caps.items()]
        self.answers |= {
            **WHOLE,
            "osd pool ls": [FOUND, own],
            "auth ls": {"auth_dump": known},
            "health": {"status": "HEALTH_OK", "checks": {}},
            "osd dump": {"osds": [{"osd": number, "up": 1, "in": 1} for number in self.osds], "crush_node_flags": {}},
        }

    def ask(self, prefix: str, **arguments: Any) -> Any:
        found = super().ask(prefix, **arguments)
        return {"nodes": [*found["nodes"], *self.above]} if prefix == "osd tree" else found

    def place(self, kind: str, name: str, *below: int) -> None:
        """Have a rack or room in the CRUSH map."""
        self.above.append({"id": -100 - len(self.above), "type": kind, "name": name, "children": [*below]})


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Living:
    living = Living()

    @contextmanager
    def connected(*_: object, **__: object) -> Iterator[Living]:
        yield living

    monkeypatch.setattr(whole, "connected", connected)
    monkeypatch.setattr(whole, "CONF", tmp_path)
    (tmp_path / "ceph-0").mkdir()
    monkeypatch.setattr(disk, "OSDS", tmp_path)
    return living


def converge(*, check: bool = False, **other: Any) -> list[str]:
    """Return what a run does to the cluster."""
    changes = Changes(check=check)
    whole.converge(changes, ceph=plan(**CEPH | other), keys=KEYS, osds=3, timeout=0)
    return changes.done


@pytest.mark.parametrize("check", [False, True])
def test_a_cluster_as_planned_is_told_nothing(cluster: Living, *, check: bool) -> None:
    assert converge(check=check) == []
    assert cluster.told == []


@pytest.mark.parametrize("check", [False, True])
def test_monitoring_has_the_managers_tell_metrics(cluster: Living, *, check: bool) -> None:
    offered = {"enabled_modules": [], "disabled_modules": [{"name": "prometheus"}]}
    cluster.answers |= {"mgr module ls": offered, "mgr services": {"prometheus": "http://x:9283/"}}
    assert converge(check=check, metrics=True) == [metrics.SWITCHING_ON]
    sent = [("config-key set", "prometheus"), ("mgr module enable", "prometheus")]
    assert [(prefix, more.get("val", more.get("module"))) for prefix, more in cluster.told] == sent * (not check)


def test_metrics_wait_for_a_manager_that_has_said_what_it_offers(
    cluster: Living, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Until then the monitors know no module, and refuse to switch one on."""
    monkeypatch.setattr(metrics, "PATIENCE", 0.0)
    cluster.answers["mgr module ls"] = {"enabled_modules": [], "disabled_modules": [{"name": "influx"}]}
    with pytest.raises(GroundupError, match="no manager of Ceph offers the module prometheus"):
        converge(metrics=True)
    assert cluster.told == []


def test_managers_that_tell_no_metrics_are_a_fault_of_the_run_and_of_its_verification(cluster: Living) -> None:
    cluster.answers |= {"mgr module ls": {"enabled_modules": ["prometheus"]}, "mgr services": {}}
    cluster.answers["quorum_status"] = {"quorum_names": [*MONITORS]}
    with pytest.raises(GroundupError, match=r"learns nothing of Ceph: no manager tells metrics \(it starts\)"):
        converge(metrics=True)
    with pytest.raises(GroundupError, match="no manager tells metrics"):
        whole.verify(Changes(check=False), ceph=plan(**CEPH, metrics=True), keys=KEYS, osds=3, timeout=0)


def test_a_dry_run_before_there_is_a_cluster_predicts_its_metrics(cluster: Living, tmp_path: Path) -> None:
    (tmp_path / "ceph-0").rmdir()
    assert metrics.SWITCHING_ON in converge(check=True, metrics=True)
    assert metrics.SWITCHING_ON not in converge(check=True)
    assert cluster.told == []


@pytest.mark.parametrize("check", [False, True])
def test_racks_that_the_map_has_not_are_refused_with_the_commands_that_make_them(
    cluster: Living, *, check: bool
) -> None:
    cluster.place("rack", "a2", -3)  # storage-2 is there already
    cluster.place("rack", "b1", -4)
    racked = RACKED | {"storage-9": {"host": "storage-9", "rack": "a9"}}  # it has no OSD yet: Ceph will place it
    rule = RULE | {"name": "rack-ssd", "failure_domain": "rack"}
    with pytest.raises(GroundupError) as caught:
        converge(check=check, locations=racked, rules=[rule], pools={"images": POOL | {"rule": "rack-ssd"}})
    moves = "osd crush move storage-1 root=default rack=a1; ceph osd crush move storage-3 root=default rack=a3"
    assert str(caught.value).endswith(f"(data move): ceph {moves}")
    assert cluster.told == []


def test_a_rack_in_another_room_is_moved_as_one(cluster: Living) -> None:
    cluster.place("rack", "a1", -2, -3, -4)
    cluster.place("room", "west", cluster.above[0]["id"])
    there = {name: {"host": name, "rack": "a1", "room": "west"} for name in MONITORS}
    assert converge(locations=there) == []
    moved = {name: one | {"room": "east"} for name, one in there.items()}
    with pytest.raises(GroundupError, match=r"move\): ceph osd crush move a1 root=default room=east$"):
        converge(locations=moved)


def test_a_fourth_monitor_that_no_plan_names_is_refused(cluster: Living) -> None:
    cluster.answers["mon dump"] = quorum({**MONITORS, "storage-4": "10.0.0.4"})
    there = {**CEPH["locations"], "storage-4": {"host": "storage-4"}}
    with pytest.raises(GroundupError, match=r"storage-4 at 10\.0\.0\.4, planned none there"):
        converge(locations=there)
    assert cluster.told == []


def test_a_map_with_places_that_the_plan_does_not_name_is_left_alone(cluster: Living) -> None:
    cluster.place("rack", "a1", -2, -3, -4)
    assert converge() == []


def test_the_flag_of_a_killed_run_is_put_back_also_where_the_run_is_refused(cluster: Living) -> None:
    cluster.records["groundup/flags/storage-1"] = "noout"
    with pytest.raises(GroundupError, match="storage-3 left the site file"):
        converge(locations={name: {"host": name} for name in ("storage-1", "storage-2")})
    assert cluster.records == {}
