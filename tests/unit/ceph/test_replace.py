"""An OSD whose disk is lost is given up and made anew: Ceph is asked, and what a killed run left is made good."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.module_utils._base.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.module_utils._ceph import replace, verbs

from .host import PLAN, node, on_device
from .test_members import Cluster, host

__all__ = ["host"]  # fixture


def replaced(cluster: Cluster, number: int = 0, **other: Any) -> list[str]:
    changes = Changes(check=other.pop("check", False))
    options: dict[str, Any] = {"force": (), **other}
    replace.give_up(cluster, changes, options.pop("of", node()), number, **options)  # type: ignore[arg-type]
    return changes.done


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


def test_a_run_that_was_killed_after_it_destroyed_the_osd_goes_on(tmp_path: Path) -> None:
    cluster = Cluster()
    lost(cluster)
    cluster.osds[0]["status"] = "destroyed"
    place = tmp_path / "ceph-0"
    place.mkdir()
    # A run in between had the daemon tried, which is in vain.
    assert replaced(cluster) == ["stop and disable ceph-osd@0.service", f"remove {place}"]
    assert (place.exists(), cluster.told) == (False, [])


def test_an_osd_that_was_replaced_a_moment_ago_is_not_given_up_again_whatever_is_accepted() -> None:
    cluster = Cluster()
    lost(cluster, state="active+undersized+degraded+remapped+backfilling")
    cluster.osds[0]["status"] = "up"
    with pytest.raises(GroundupError, match=r"copies are being made \(4 PGs .*\): wait") as caught:
        replaced(cluster, force=("copy",))
    assert "accept it" not in str(caught.value)
    assert cluster.told == []


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


def test_an_osd_whose_disk_is_in_another_s_place_is_not_destroyed_for_that(tmp_path: Path) -> None:
    cluster, first, second = Cluster(), on_device(tmp_path / "a"), on_device(tmp_path / "b")
    lost(cluster)
    cluster.answers["osd dump"]["osds"] = [{"osd": 0, "uuid": first.uuid}, {"osd": 7, "uuid": second.uuid}]
    swapped = node(osds=(first, second))

    def disks(**holders: str) -> None:
        for place, holder in holders.items():
            (tmp_path / place).write_bytes(f"bluestore block device\n{holder}\n".encode() + bytes(4096))

    disks(a=second.uuid, b=first.uuid)
    for force in ((), ("copy",)):
        with pytest.raises(GroundupError, match=r"\S+/a is its place, and the disk of osd\.7 is there: put each"):
            replaced(cluster, of=swapped, force=force)
    (tmp_path / "a").write_bytes(bytes(4096))  # an empty one in its place, its own in the neighbour's
    with pytest.raises(GroundupError, match=r"is at \S+/b, the place of osd\.7: put it back\n(.*\n)*.*force.*copy"):
        replaced(cluster, of=swapped)
    assert cluster.told == []
    replaced(cluster, of=swapped, force=("copy",))
    disks(b=second.uuid)
    cluster.told.clear()
    replaced(cluster, of=swapped)
    assert [prefix for prefix, _ in cluster.told] == ["osd destroy"], "its neighbour is where it belongs"
    (tmp_path / "b").unlink()
    (tmp_path / "b").mkdir()  # stands for one that cannot be read
    replaced(cluster, of=swapped)


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


def test_a_host_that_the_site_does_not_know_is_refused_with_those_it_knows() -> None:
    ceph = PLAN | {"locations": {name: {} for name in ("storage-1", "storage-2")}}
    given = {"name": "storage1", "ceph": ceph, "force": [], "timeout": 1}
    with pytest.raises(GroundupError, match="storage1 is no storage host of this site") as caught:
        verbs.run("replace", Changes(check=False), given)
    assert "one of storage-1, storage-2" in str(caught.value)


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
