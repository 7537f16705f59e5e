"""What Ceph does not say is no consent: an empty answer, a cluster without OSDs, an OSD that it has forgotten."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.module_utils._ceph import disk, members, retire

from .host import FSID
from .test_members import Cluster, drained, host
from .test_retire import retired

__all__ = ["host"]  # fixture
pytestmark = pytest.mark.usefixtures("host")


@pytest.mark.parametrize(
    ("answer", "said", "why"),
    [
        (None, "", "no answer, code 0"),
        (None, "not enough PGs", "not enough PGs"),
        ({}, "", "osd.1, osd.2 not named as safe"),
        ({"safe_to_destroy": [1]}, "", "osd.2 not named as safe"),
        ({"safe_to_destroy": [1], "active": [2]}, "", "osd.2 in use"),
        ({"safe_to_destroy": [1, 2], "active": [], "missing_stats": [], "stored_pgs": []}, "", ""),
    ],
)
def test_an_osd_is_safe_when_ceph_names_it_as_safe_and_not_when_it_says_nothing(
    answer: Any, said: str, why: str
) -> None:
    class Terse(Cluster):
        def attempt(self, prefix: str, **arguments: Any) -> tuple[int, Any, str]:
            assert (prefix, arguments) == ("osd safe-to-destroy", {"ids": ["1", "2"]})
            return 0, answer, said

    assert members.unsafe(Terse(), [1, 2]) == why  # type: ignore[arg-type]  # a cluster's double


def test_a_cluster_without_osds_does_not_say_that_a_machine_has_none() -> None:
    cluster: Any = Cluster()
    members.refuse_erasure(cluster, "worker-1")
    cluster.osds.clear()
    with pytest.raises(GroundupError, match="no OSD at all: it does not say whether worker-1 has some"):
        members.refuse_erasure(cluster, "worker-1")


@pytest.fixture
def forgotten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the directory of an OSD that a cluster whose monitors are older does not know."""
    for module, name in ((retire, "LIB"), (retire, "CONF"), (disk, "CONF"), (disk, "SYSTEMD")):
        monkeypatch.setattr(module, name, tmp_path / name)
    place = tmp_path / "ceph-9"
    place.mkdir()
    (place / "ceph_fsid").write_text(FSID)
    return place


def test_an_osd_that_the_cluster_has_forgotten_is_removed_by_consent_alone(forgotten: Path) -> None:
    cluster = Cluster()
    drained(cluster)
    cluster.osds[1]["status"] = "down"
    with pytest.raises(GroundupError, match=r"its disks have osd\.9, which the cluster does not know") as caught:
        retired(cluster, here=True, fsid=FSID)
    assert "accept it with -e '{\"retire_force\": [lost]}'" in str(caught.value)
    assert forgotten.exists()
    assert f"remove {forgotten}" in retired(cluster, here=True, fsid=FSID, force=("lost",))


def test_a_retirement_that_was_killed_between_cluster_and_disk_goes_on_without_a_question(
    forgotten: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = forgotten.rename(forgotten.with_name("ceph-1"))
    cluster = Cluster()
    drained(cluster)
    cluster.osds[1]["status"] = "down"
    with monkeypatch.context() as killed:
        killed.setattr(retire, "_forget", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            retired(cluster, here=True, fsid=FSID)
    del cluster.osds[1]
    assert f"remove {place}" in retired(cluster, here=True, fsid=FSID)
