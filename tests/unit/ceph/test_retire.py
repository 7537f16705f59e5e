"""A host leaves the cluster: empty, or given up by consent, and with all that is its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.module_utils._base.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.module_utils._ceph import disk, members, retire

from .host import FOREIGN, FSID
from .test_members import Cluster, drained, host

__all__ = ["host"]  # fixture


def retired(cluster: Cluster, name: str = "storage-2", **other: Any) -> list[str]:
    changes = Changes(check=other.pop("check", False))
    options: dict[str, Any] = {"fsid": "-", "here": False, "force": (), **other}
    retire.retire(cluster, changes, name, **options)  # type: ignore[arg-type]
    return changes.done


def test_a_host_with_data_does_not_leave_and_the_verb_that_empties_it_is_named() -> None:
    cluster = Cluster()
    with pytest.raises(GroundupError, match=r"data on osd\.1: first ansible-playbook groundup\.cloud\.drain"):
        retired(cluster, here=True, force=("lost",))
    assert cluster.told == []


def test_a_machine_that_the_cluster_has_data_on_is_not_erased_and_a_retired_one_may_be() -> None:
    cluster: Any = Cluster(hosts=4)
    with pytest.raises(GroundupError, match=r"has osd\.1, a monitor on storage-2\n(.*\n)*.*cloud\.retire.*erase_force"):
        members.refuse_erasure(cluster, "storage-2")
    drained(cluster, "storage-4")
    with pytest.raises(GroundupError, match=r"has osd\.3 on storage-4"):
        members.refuse_erasure(cluster, "storage-4")
    del cluster.osds[3], cluster.on["storage-4"]
    members.refuse_erasure(cluster, "storage-4")


def test_a_running_host_whose_drain_did_not_end_is_not_given_up_as_lost() -> None:
    cluster = Cluster()
    cluster.osds[1]["crush_weight"] = 0.0
    copied = {"name": "active+remapped+backfilling", "num": 4}
    cluster.answers["pg stat"] = {"pg_summary": {"num_pg_by_state": [copied]}}
    with pytest.raises(GroundupError, match=r"data on osd\.1: first \S+ groundup\.cloud\.drain -e machine"):
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


def test_what_a_killed_retirement_left_of_a_host_s_data_goes_with_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    conf, manager = tmp_path / "ceph.conf", tmp_path / "mgr/ceph-storage-2"
    for module, name, value in ((retire, "LIB", tmp_path), (retire, "CONF", conf), (disk, "CONF", conf)):
        monkeypatch.setattr(module, name, value)
    manager.mkdir(parents=True)
    conf.write_text(f"fsid = {FOREIGN}\n")
    cluster = Cluster()
    drained(cluster)
    cluster.osds[1]["status"] = "down"
    said = retired(cluster, here=True, fsid=FSID, check=True)
    assert not [line for line in said if str(tmp_path) in line], "another cluster's"
    conf.write_text(f"fsid = {FSID}\n")
    said = retired(cluster, here=True, fsid=FSID)
    assert said[0] == "stop and disable ceph-mgr@storage-2.service"
    assert said[-2:] == [f"remove {manager}", f"remove {conf}"], "the file last, which says of which cluster they are"


def test_what_an_osd_s_unit_did_before_its_start_goes_with_its_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module, name in ((retire, "LIB"), (retire, "CONF"), (disk, "CONF"), (disk, "SYSTEMD")):
        monkeypatch.setattr(module, name, tmp_path / name)
    (tmp_path / "ceph-1").mkdir()
    (tmp_path / "ceph-1/ceph_fsid").write_text(FSID)
    disk.drop_in(1).parent.mkdir(parents=True)
    disk.drop_in(1).touch()
    cluster = Cluster()
    drained(cluster)
    cluster.osds[1]["status"] = "down"
    said = retired(cluster, here=True, fsid=FSID)
    assert said[-2:] == [f"remove {disk.drop_in(1)}", f"remove {tmp_path / 'ceph-1'}"], "a killed run goes on"
    assert not disk.drop_in(1).exists()


@pytest.mark.parametrize("check", [True, False])
def test_osds_that_the_cluster_has_on_another_host_are_not_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, check: bool
) -> None:
    """A host was renamed: asked by its new name, the cluster knows of no OSD on it."""
    monkeypatch.setattr(disk, "OSDS", tmp_path)
    (tmp_path / "ceph-1").mkdir()
    (tmp_path / "ceph-1/ceph_fsid").write_text(FSID)
    cluster = Cluster()
    with pytest.raises(GroundupError, match=r"its disks have osd\.1, which the cluster has on another host"):
        retired(cluster, "renamed", here=True, fsid=FSID, force=("lost",), check=check)
    assert (tmp_path / "ceph-1").exists()
    assert cluster.told == []


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


@pytest.mark.parametrize(("needed", "first"), [(False, "stop"), (True, "remove")])
def test_a_monitor_is_stopped_before_it_is_removed_but_where_that_ends_the_quorum(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, needed: bool, first: str
) -> None:
    class Watched(Cluster):
        def attempt(self, prefix: str, **arguments: Any) -> tuple[int, Any, str]:
            if prefix != "mon ok-to-stop":
                return super().attempt(prefix, **arguments)
            assert arguments == {"ids": ["storage-2"]}
            return 16 * needed, None, ""

    for module, name, value in (
        (retire, "LIB", tmp_path),
        (retire, "CONF", tmp_path / "c"),
        (disk, "CONF", tmp_path / "c"),
    ):
        monkeypatch.setattr(module, name, value)
    (tmp_path / "mon/ceph-storage-2").mkdir(parents=True)
    (tmp_path / "mon/ceph-storage-2" / disk.FSID).write_text(FSID)
    cluster = Watched()
    drained(cluster)
    cluster.osds[1]["status"] = "down"
    said = retired(cluster, here=True, fsid=FSID)
    steps = ["stop and disable ceph-mon@storage-2.service", "remove monitor storage-2 from the quorum"]
    assert sorted(steps, key=said.index)[0].startswith(first)
    assert said.count(steps[1]) == 1


@pytest.mark.parametrize("check", [False, True])
def test_a_host_that_nobody_knows_is_not_told_as_one_that_left(*, check: bool) -> None:
    with pytest.raises(GroundupError, match=r"the cluster knows nothing of storage2\n(.*\n)*.*one of storage-1, "):
        retired(Cluster(), "storage2", check=check)
