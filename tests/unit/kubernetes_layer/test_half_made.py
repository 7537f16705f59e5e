"""What a killed run left half made is reset, joined or named; data that were there are set aside."""

from __future__ import annotations

import errno
from datetime import UTC, datetime
from pathlib import Path

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.module_utils._kubeadm import half_made
from ansible_collections.groundup.cloud.plugins.module_utils._kubeadm.spec import Node, Paths
from ansible_collections.groundup.cloud.plugins.module_utils._kubeadm.state import Membership, observe

from .conftest import CA, JOIN, KUBECONFIG, FakeHost, begin, finish, make_node, run, write


def test_a_half_made_cluster_is_reset_then_made_and_its_data_are_put_aside(
    first: Node, host: FakeHost, paths: Paths
) -> None:
    write(paths, "/etc/kubernetes/pki/ca.crt", CA)
    write(paths, "/etc/kubernetes/manifests/etcd.yaml")
    write(paths, "/var/lib/etcd/member/wal/0", "data")
    begin(paths, verb="init")
    made = run(first, host)
    assert host.verbs() == ["kubeadm reset", "kubeadm init"]
    assert made.result.membership is Membership.MEMBER
    assert half_made.begun(paths) is None
    assert [path.read_text() for path in paths.root.glob("var/lib/etcd.*.before-reset/member/wal/0")] == ["data"]
    assert [path.read_text() for path in paths.root.glob("etc/kubernetes.*.before-reset/pki/ca.crt")] == [CA]
    (warning,) = made.result.changes.warnings
    assert "etc/kubernetes.2" in warning
    assert "var/lib/etcd.2" in warning


def test_what_was_set_aside_before_is_never_overwritten_and_does_not_fill_the_disk(paths: Paths) -> None:
    for second in range(half_made.MOST):
        write(paths, "/etc/kubernetes/admin.conf", str(second))
        write(paths, "/var/lib/etcd/member/wal/0", str(second))
        now = datetime(2026, 11, 22, 8, 0, second, tzinfo=UTC)
        half_made.set_aside(paths, etcd=True, emptied=False, host="control-1", now=now)
    kept = sorted(paths.root.glob("var/lib/etcd.*.before-reset"))
    assert kept[0].name == "etcd.20261122T080000Z.before-reset"
    assert [(path / "member/wal/0").read_text() for path in kept] == ["0", "1", "2", "3", "4"]
    write(paths, "/var/lib/etcd/member/wal/0", "5")
    with pytest.raises(GroundupError, match=r"(?s)control-1 was reset 5 times before.*kubernetes\.20261122T080000Z"):
        half_made.set_aside(paths, etcd=True, emptied=False, host="control-1")
    assert paths.at("/var/lib/etcd/member/wal/0").read_text() == "5"


def test_etcd_data_on_a_disk_of_their_own_are_set_aside_there_and_outlive_a_reset(
    paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A mount cannot be renamed, and kubeadm empties the directory of a member that joined."""
    monkeypatch.setattr(Path, "is_mount", lambda path: path == paths.etcd)
    write(paths, "/etc/kubernetes/admin.conf")
    write(paths, "/var/lib/etcd/lost+found/x")
    write(paths, "/var/lib/etcd/member/wal/0", "data")
    _, data = half_made.set_aside(paths, etcd=True, emptied=False, host="control-1")
    assert data.parent == paths.etcd
    assert (data / "wal/0").read_text() == "data"
    assert not observe(paths).etcd_data
    with pytest.raises(GroundupError, match=r"(?s)control-1 is not reset while data.*member\.2.*before-reset"):
        half_made.set_aside(paths, etcd=False, emptied=True, host="control-1")


def test_data_of_a_host_that_joins_are_not_set_aside_where_kubeadm_empties_the_disk(
    host: FakeHost, paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Data without their manifest: nobody knows whose copy they are."""
    monkeypatch.setattr(Path, "is_mount", lambda path: path == paths.etcd)
    write(paths, "/etc/kubernetes/pki/ca.crt", CA)
    write(paths, "/var/lib/etcd/member/wal/0", "data")
    begin(paths, verb="join")
    with pytest.raises(GroundupError, match=r"(?s)is not reset while data of etcd.*kubeadm reset empties"):
        run(make_node(), host, join=JOIN)
    assert host.verbs() == []
    assert paths.at("/var/lib/etcd/member/wal/0").read_text() == "data"


def test_a_disk_too_full_for_what_is_set_aside_ends_in_a_clear_word_and_resets_nothing(
    first: Node, host: FakeHost, paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    write(paths, "/etc/kubernetes/pki/ca.crt", CA)
    begin(paths, verb="init")
    with monkeypatch.context() as patched:
        patched.setattr("shutil.copytree", full)
        with pytest.raises(GroundupError, match=r"(?s)is not reset: .*No space left on device.*df -h"):
            run(first, host)
    assert host.verbs() == []
    assert half_made.kept_of(paths.kubernetes) == []
    assert run(first, host).result.membership is Membership.MEMBER, "the next run goes on"


def test_what_no_run_of_ours_left_half_made_is_not_reset(worker: Node, host: FakeHost, paths: Paths) -> None:
    """A member whose kubelet lost its certificate looks half made, too."""
    finish(paths, control=False, ca=CA)
    paths.at("/var/lib/kubelet/pki/kubelet-client-current.pem").unlink()
    with pytest.raises(GroundupError, match=r"(?s)leftovers of Kubernetes, and no run of groundup\.cloud began it"):
        run(worker, host, join=JOIN)
    begin(paths, verb="join", cluster="elsewhere")
    with pytest.raises(GroundupError, match="and cluster elsewhere began it"):
        run(worker, host, join=JOIN)
    assert host.verbs() == []


def test_the_mark_of_a_run_that_was_killed_after_its_join_ended_is_removed(
    worker: Node, host: FakeHost, paths: Paths
) -> None:
    finish(paths, control=False, ca=CA)
    begin(paths, verb="join")
    removal = "remove the mark a killed init or join left"
    assert removal in run(worker, host, check=True).actions
    assert removal in run(worker, host).actions
    assert half_made.begun(paths) is None


def test_a_half_joined_worker_is_reset_only_once_it_is_invited(worker: Node, host: FakeHost, paths: Paths) -> None:
    conf = KUBECONFIG.format(server="https://kubernetes.test:6443", credential="")
    write(paths, "/etc/kubernetes/bootstrap-kubelet.conf", conf)
    begin(paths, verb="join")
    assert run(worker, host).result.joins
    assert "kubeadm reset" not in host.verbs()
    assert run(worker, host, join=JOIN).result.membership is Membership.MEMBER
    assert host.verbs()[-2:] == ["kubeadm reset", "kubeadm join"]
