"""A host leaves: its etcd member only while those that stay keep their quorum, its files only when they are ours."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.module_utils._base.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.module_utils._host import units
from ansible_collections.groundup.cloud.plugins.module_utils._kubeadm import leave as leaving
from ansible_collections.groundup.cloud.plugins.module_utils._kubeadm.leave import leave_etcd, reset
from ansible_collections.groundup.cloud.plugins.module_utils._kubeadm.spec import Paths

from .conftest import FakeHost, certificate, pem
from .test_stale_members import ADDRESSES, Cluster, member

pytestmark = pytest.mark.usefixtures("clock")


def leave(cluster: Cluster, name: str, *, check: bool = False) -> list[str]:
    """Take ``name`` out of etcd; return what was done."""
    changes, etcd = Changes(check=check), cluster
    how: Any = {"etcd": etcd}
    leave_etcd(name, ADDRESSES[name], contact="control-1", changes=changes, **how)
    return changes.done


def of(*numbers: int, **how: Any) -> Cluster:
    """Return an etcd of these members."""
    return Cluster(*(member(f"control-{n}") for n in numbers), **how)


@pytest.mark.parametrize("ill", [[], ["control-3"]], ids=["it runs", "it is dead"])
def test_one_of_three_leaves_while_the_others_are_well(ill: list[str]) -> None:
    cluster = of(1, 2, 3, ill=ill)
    assert leave(cluster, "control-3", check=True) == ["remove the etcd member of control-3"]
    assert cluster.done == []
    assert leave(cluster, "control-3") == ["remove the etcd member of control-3"]
    assert cluster.done == ["removed control-3"]
    assert leave(cluster, "control-3") == []


def test_a_running_member_of_two_can_leave() -> None:
    assert leave(of(1, 2), "control-2") == ["remove the etcd member of control-2"]


@pytest.mark.parametrize(
    ("numbers", "ill", "left"),
    [
        ((1, 2), ["control-2"], "1 are healthy"),  # the one that is left cannot decide it alone
        ((1, 2, 3), ["control-2"], "1 are healthy"),  # of the two that stay one is down
        ((1, 2, 3, 4, 5), ["control-1", "control-2", "control-5"], "2 are healthy"),
    ],
)
def test_a_member_stays_when_the_others_would_have_no_quorum(
    numbers: tuple[int, ...], ill: list[str], left: str
) -> None:
    cluster, name = of(*numbers, ill=ill), f"control-{numbers[-1]}"
    with pytest.raises(GroundupError, match="cannot be removed") as caught:
        leave(cluster, name)
    assert left in caught.value.what
    assert cluster.done == []


def test_a_living_member_that_has_the_address_of_a_dead_host_stays() -> None:
    """A dead control host was replaced under another name, with its address."""
    cluster = Cluster(member("control-1"), member("control-2"), member("control-4", address=ADDRESSES["control-3"]))
    assert leave(cluster, "control-3") == []
    unstarted = Cluster(member("control-1"), member("control-2"), member("control-3", started=False))
    assert leave(unstarted, "control-3") == ["remove the etcd member of control-3"]


@pytest.fixture
def stopped(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The services that were turned off."""
    names: list[str] = []
    monkeypatch.setattr(units, "off", lambda _, wanted: names.extend(wanted))
    return names


def test_a_node_is_reset_and_its_files_go(paths: Paths, stopped: list[str]) -> None:
    host, ca = FakeHost(paths), pem(certificate())
    for path, text in {
        "/etc/kubernetes/pki/ca.crt": ca,
        "/etc/kubernetes/kubelet.conf": "",
        "/usr/local/bin/kubeadm": "",
        "/srv/kubernetes-volumes/pvc/data": "d",
        "/etc/cni/net.d/10-flannel.conflist": "",
        "/run/flannel/subnet.env": "FLANNEL_SUBNET=10.233.66.1/24",
        "/etc/hosts": "kept",
    }.items():
        paths.at(path).parent.mkdir(parents=True, exist_ok=True)
        paths.at(path).write_text(text)
    predicted = Changes(check=True)
    reset(host, predicted, expected_ca=None)
    assert host.commands == []
    assert paths.pki.exists()
    changes = Changes(check=False)
    reset(host, changes, expected_ca=None)
    assert changes.done == predicted.done
    assert [command[1:3] for command in host.commands] == [["reset", "--force"]]
    assert not any(paths.at(path).exists() for path in ("/etc/kubernetes", "/run/flannel", "/srv/kubernetes-volumes"))
    assert paths.at("/etc/hosts").read_text() == "kept"
    # containerd watches the directory itself: one made anew would be another one, and the host no node again.
    assert list(paths.at("/etc/cni/net.d").iterdir()) == []
    timer = "groundup-certificates.timer"
    assert stopped[-4:] == ["keepalived.service", "haproxy.service", "kubelet.service", timer]
    again = Changes(check=False)
    reset(host, again, expected_ca=None)
    assert again.done == []


DATA = "/srv/kubernetes-volumes/pvc-1_openstack_mysql-data-0/ibdata1"
OPTIONS = {"name": "worker-1", "member": None, "address": "", "expected_ca": "0" * 64, "site": "s"}


def place(paths: Paths, *files: str) -> None:
    for path in files:
        paths.at(path).parent.mkdir(parents=True, exist_ok=True)
        paths.at(path).write_text("d")


def gone(paths: Paths, *, check: bool = False, **given: Any) -> Changes:
    changes = Changes(check=check)
    leaving.leave(FakeHost(paths), {**OPTIONS, "directories": [], "force": [], **given}, changes)
    return changes


@pytest.mark.parametrize("check", [True, False])
@pytest.mark.parametrize("named", [[], ["/srv/kubernetes-volumes/pvc-2"], [""]])
def test_a_volume_that_the_cluster_does_not_name_is_refused(
    paths: Paths, stopped: list[str], *, check: bool, named: list[str]
) -> None:
    place(paths, DATA)
    with pytest.raises(
        GroundupError, match="pvc-1_openstack_mysql-data-0, which no volume of the cluster is"
    ) as caught:
        gone(paths, check=check, directories=named)
    assert '"remove_force": [other-volumes]' in caught.value.remedy
    assert stopped == []
    assert paths.at(DATA).exists()


@pytest.mark.parametrize(
    "given", [{"directories": [str(Path(DATA).parent)]}, {"force": ["other-volumes"]}], ids=["named", "accepted"]
)
@pytest.mark.parametrize("mounted", [True, False])
@pytest.mark.usefixtures("stopped")
def test_volumes_of_a_host_that_leaves_are_set_aside(
    paths: Paths, monkeypatch: pytest.MonkeyPatch, *, given: dict[str, Any], mounted: bool
) -> None:
    directory = paths.at("/srv/kubernetes-volumes")
    monkeypatch.setattr(Path, "is_mount", lambda path: mounted and path == directory)
    place(paths, DATA, "/srv/kubernetes-volumes/.deleted-1-pvc-3/ibdata1")
    if mounted:
        (directory / "lost+found").mkdir()
    assert gone(paths, check=True, **given).done == (done := gone(paths, **given)).done
    kept = sorted(path.relative_to(directory.parent) for path in directory.parent.rglob("ibdata1"))
    assert len(kept) == 2
    assert all(".before-reset/" in str(path) for path in kept)
    assert "keeps volumes" in done.warnings[-1]
    assert paths.at(DATA).exists() is False
    assert gone(paths).done == [], "what was set aside is left alone"


@pytest.mark.usefixtures("stopped")
def test_volumes_are_not_set_aside_without_end(paths: Paths) -> None:
    for number in range(5):
        place(paths, f"/srv/kubernetes-volumes.2026112{number}T080000Z.before-reset/pvc/d")
    gone(paths)
    place(paths, DATA)
    with pytest.raises(GroundupError, match="set aside 5 times before"):
        gone(paths, force=["other-volumes"])


def test_a_node_of_another_cluster_is_left_alone(paths: Paths, stopped: list[str]) -> None:
    paths.pki.mkdir(parents=True, exist_ok=True)
    (paths.pki / "ca.crt").write_text(pem(certificate()))
    with pytest.raises(GroundupError, match="another Kubernetes cluster"):
        reset(FakeHost(paths), Changes(check=False), expected_ca="0" * 64)
    assert stopped == []
    assert (paths.pki / "ca.crt").exists()


def test_a_node_is_not_reset_on_the_word_of_nobody(paths: Paths, stopped: list[str]) -> None:
    options = {"name": "worker-1", "member": None, "address": "", "expected_ca": None, "site": None}
    with pytest.raises(GroundupError, match="is not reset: nobody said which cluster"):
        leaving.leave(FakeHost(paths), options, Changes(check=False))
    assert stopped == []


def test_nothing_is_removed_below_a_volume_that_kubeadm_could_not_unmount(paths: Paths, stopped: list[str]) -> None:
    mounted = "/var/lib/kubelet/pods/1/volumes/kubernetes.io~csi/pv/mount"
    for path in (f"{mounted}/data", "/proc/self/mountinfo", "/etc/kubernetes/kubelet.conf"):
        paths.at(path).parent.mkdir(parents=True, exist_ok=True)
        paths.at(path).write_text(f"36 35 98:0 / {mounted} rw,noatime - ext4 /dev/rbd0 rw\n")
    with pytest.raises(GroundupError, match=r"(?s)/pv/mount of .* is still mounted.*then run this again"):
        reset(FakeHost(paths), Changes(check=False), expected_ca=None)
    assert paths.at(f"{mounted}/data").exists()
    assert stopped[-2] == "kubelet.service"
    paths.at("/proc/self/mountinfo").write_text("36 35 98:0 / /var/lib/kubelet rw - ext4 /dev/sdb rw\n")
    reset(FakeHost(paths), Changes(check=False), expected_ca=None)
    assert not paths.kubelet.exists()


def test_what_was_set_aside_on_the_disk_of_etcd_is_not_removed(
    paths: Paths, stopped: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Path, "is_mount", lambda path: path == paths.etcd)
    kept = paths.etcd / "member.20261122T080000Z.before-reset"
    keys = paths.kubernetes.with_name("kubernetes.20261122T080000Z.before-reset")
    for path in (kept, keys, paths.etcd / "member"):
        path.mkdir(parents=True)
    for removed in ([f"remove {paths.etcd}"], []):
        changes = Changes(check=False)
        reset(FakeHost(paths), changes, expected_ca=None)
        assert changes.done == removed
        assert list(paths.etcd.iterdir()) == [kept]
        assert keys.exists()
        assert f"{keys}, {kept}; delete what you do not need" in changes.warnings[0]
    assert stopped
