"""A control host gives up its etcd for a snapshot, or to join anew: nothing is deleted, and a killed run goes on."""

from __future__ import annotations

import base64
import io
import json
import shutil
import tarfile
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.module_utils._base.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.module_utils._kubeadm import etcd_restore, half_made, keys
from ansible_collections.groundup.cloud.plugins.module_utils._kubeadm.spec import Paths
from ansible_collections.groundup.cloud.plugins.module_utils._kubeadm.state import Membership, classify, observe

from .conftest import CA, FakeHost, _reset, finish, make_node, write

NAME = "20261128T150000Z"
GIVEN = {
    "name": "control-1", "site": "test", "restore": NAME, "source": "20261128T140000Z", "api": "https://10.0.0.16:6444",
    "snapshot": "/tmp/snapshot.db", "program": "/tmp/etcdutl",  # noqa: S108  # names
}  # fmt: skip
ETCD = """\
spec:
  containers:
  - image: registry.test:5000/kubernetes/etcd:3.6.8-0
    command:
    - etcd
    - --name=control-1
    - --initial-advertise-peer-urls=https://10.0.0.16:2380
    - --initial-cluster-state=existing
"""
CONTAINER = {
    "id": "1a", "labels": {"io.kubernetes.container.name": "etcd", "io.kubernetes.pod.namespace": "kube-system"}
}  # fmt: skip
OTHER = {"id": "2b", "labels": {"io.kubernetes.container.name": "etcd", "io.kubernetes.pod.namespace": "tenant"}}


@pytest.fixture
def member(host: FakeHost, paths: Paths, monkeypatch: pytest.MonkeyPatch) -> FakeHost:
    """A member whose control plane runs; its API is ready when it is asked."""
    finish(paths, control=True, ca=CA)
    write(paths, "/etc/kubernetes/manifests/etcd.yaml", ETCD)
    write(paths, "/var/lib/etcd/member/wal/0", "of before")
    host.running.add("kubelet.service")
    host.answers["crictl ps"] = json.dumps({"containers": [CONTAINER, OTHER]})

    def stopped() -> None:
        host.answers["crictl ps"] = json.dumps({"containers": [OTHER]})

    def restored() -> None:
        write(paths, "/var/lib/etcd.restoring/member/wal/0", "of the set")

    host.leaves |= {
        "crictl stop": stopped,
        f"{GIVEN['program']} snapshot": restored,
        "kubeadm reset": lambda: _reset(paths),
    }
    monkeypatch.setattr(etcd_restore, "NodeHost", lambda *, name: host)  # noqa: ARG005
    monkeypatch.setattr(etcd_restore, "unready", lambda *_: None)
    return host


def test_only_the_control_planes_containers_end_after_the_kubelet(member: FakeHost) -> None:
    changes = Changes(check=False)
    etcd_restore.stop(changes, GIVEN)
    assert changes.done == ["stop the kubelet", "stop etcd and the control plane"]
    assert ["crictl", "stop", "--timeout", "10", "1a"] in member.commands
    assert member.running == set()


def test_a_snapshot_takes_the_place_of_data_that_are_kept_once(member: FakeHost, paths: Paths) -> None:
    etcd_restore.put(Changes(check=False), GIVEN)
    assert (paths.etcd / "member/wal/0").read_text() == "of the set"
    kept = paths.etcd.with_name(f"etcd.{NAME}.before-restore")
    assert (kept / "member/wal/0").read_text() == "of before"
    assert "kubelet.service" in member.running
    (argv,) = (one for one in member.commands if one[1:3] == ["snapshot", "restore"])
    assert {f"--initial-cluster-token=restore-{NAME}", "--bump-revision=1000000000", "--mark-compacted"} <= set(argv)
    assert "--initial-cluster=control-1=https://10.0.0.16:2380" in argv

    again = Changes(check=False)
    etcd_restore.put(again, GIVEN)
    assert again.done == []
    etcd_restore.stop(again, GIVEN)
    assert again.done == []  # it runs on the set's data: the run that goes on leaves it alone


def test_a_kill_between_the_two_renames_loses_neither_data(
    member: FakeHost, paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(etcd_restore, "sync", killed)
        with pytest.raises(KeyboardInterrupt):
            etcd_restore.put(Changes(check=False), GIVEN)
    etcd_restore.put(Changes(check=False), GIVEN)
    kept = sorted(paths.etcd.parent.glob("etcd.*.before-restore*"))
    assert [(one / "member/wal/0").read_text() for one in kept] == ["of before", "of the set"]
    assert (paths.etcd / "member/wal/0").read_text() == "of the set"
    assert "kubelet.service" in member.running


@pytest.mark.parametrize("killed", ["", "set_aside", "begin", "reset", "_record"])
def test_another_host_becomes_blank_and_keeps_data_and_files_wherever_it_was_killed(
    killed: str, member: FakeHost, paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ended(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    if killed:
        place = half_made if killed in ("set_aside", "begin") else etcd_restore
        with monkeypatch.context() as patched:
            if killed == "reset":
                patched.setitem(member.leaves, "kubeadm reset", ended)
            else:
                patched.setattr(place, killed, ended)
            with pytest.raises(KeyboardInterrupt):
                etcd_restore.leave(Changes(check=False), GIVEN)
        for kept in (*half_made.kept_of(paths.kubernetes), *half_made.kept_of(paths.etcd)):
            kept.rename(kept.with_name(f"{kept.name.partition('.')[0]}.20260101T000000Z.before-reset"))  # a second ago
    etcd_restore.leave(Changes(check=False), GIVEN)
    shutil.rmtree(paths.at("/var/lib/kubelet"), ignore_errors=True)
    assert classify(observe(paths), make_node(), expected_ca=None) is Membership.BLANK
    kept = next(iter(half_made.kept_of(paths.etcd)))
    assert (kept / "member/wal/0").read_text() == "of before"
    assert half_made.kept_of(paths.kubernetes)
    assert not [one for one in member.commands if one[:2] == ["kubeadm", "reset"] and "remove-etcd-member" not in one]
    done = len(member.commands)
    etcd_restore.leave(Changes(check=False), GIVEN)
    assert len(member.commands) == done


def test_a_host_without_a_manifest_restores_nothing(member: FakeHost, paths: Paths) -> None:
    (paths.kubernetes / "manifests/etcd.yaml").write_text("")
    with pytest.raises(GroundupError, match="has no manifest of etcd"):
        etcd_restore.put(Changes(check=False), GIVEN)
    assert (paths.etcd / "member/wal/0").read_text() == "of before"
    assert not etcd_restore.look(Changes(check=False), GIVEN)["member"]
    assert member.name


def _archive(**texts: str) -> str:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for name, text in texts.items():
            entry = tarfile.TarInfo(f"pki/{name.replace('_', '.')}")
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text.encode()))
    return base64.b64encode(packed.getvalue()).decode()


def test_missing_authorities_come_back_and_other_ones_are_never_replaced(host: FakeHost, paths: Paths) -> None:
    write(paths, "/etc/kubernetes/pki/ca.crt", "same")
    content = _archive(ca_crt="same", ca_key="secret", apiserver_crt="of one host")
    assert keys.put(host, Changes(check=False), content)
    key = paths.pki / "ca.key"
    assert (key.read_text(), key.stat().st_mode & 0o777) == ("secret", 0o600)
    assert not (paths.pki / "apiserver.crt").exists()
    with pytest.raises(GroundupError, match=r"other keys than the set: pki/ca\.key"):
        keys.put(host, Changes(check=False), _archive(ca_key="another", sa_key="x"))
    assert not Path(paths.pki / "sa.key").exists()
