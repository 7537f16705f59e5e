"""Control hosts that were all made anew: the first starts on the set's keys and etcd, wherever a run was killed."""

from __future__ import annotations

import base64
import contextlib
import io
import json
import shutil
import tarfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.module_utils._base.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.module_utils._host import units
from ansible_collections.groundup.cloud.plugins.module_utils._kubeadm import (
    certificates,
    converge,
    documents,
    encryption,
    etcd_restore,
    half_made,
    keys,
)
from ansible_collections.groundup.cloud.plugins.module_utils._kubeadm.etcd import Etcd
from ansible_collections.groundup.cloud.plugins.module_utils._kubeadm.spec import EncryptionKey, Paths
from ansible_collections.groundup.cloud.plugins.module_utils._kubeadm.state import Membership, classify, observe
from ansible_collections.groundup.cloud.tests.unit.killing import Killer

from .conftest import CA, JOIN, KEY, FakeHost, finish, make_node, run, write
from .test_etcd_restore import ETCD, GIVEN

OF_SET = EncryptionKey(name="site-1", secret=KEY)
TEXTS = {
    "pki/ca.crt": CA, "pki/ca.key": "key", "pki/etcd/ca.crt": CA, "pki/etcd/ca.key": "key", "pki/sa.key": "key",
    "pki/sa.pub": "pub", "pki/apiserver.crt": "of one host", keys.ENCRYPTION: documents.encryption_config([OF_SET]),
}  # fmt: skip
FINGERPRINT = certificates.fingerprint(certificates.first_certificate(CA) or b"")


def packed() -> str:
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as archive:
        for name, text in TEXTS.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text.encode()))
    return base64.b64encode(content.getvalue()).decode()


GIVEN_KEYS = {**GIVEN, "content": packed()}
Prepare = Callable[[Path], FakeHost]


def preparing(monkeypatch: pytest.MonkeyPatch) -> Prepare:
    """Return what makes a host below a directory that has nothing of Kubernetes, where kubeadm works."""

    def prepare(place: Path) -> FakeHost:
        host = FakeHost(Paths(root=place))
        host.answers["crictl ps"] = json.dumps({"containers": []})

        def restored() -> None:
            write(host.paths, "/var/lib/etcd.restoring/member/snap/db", "of the set")

        def initialised() -> None:
            assert not list((host.paths.kubernetes / "manifests").glob("*")), "kubeadm refuses such a host"
            assert (host.paths.etcd / "member/snap/db").read_text() == "of the set"
            assert (host.paths.pki / "etcd/ca.key").read_text() == "key"
            finish(host.paths, control=True, ca=CA)
            host.running.add("kubelet.service")

        host.leaves |= {f"{GIVEN['program']} snapshot": restored, "kubeadm init": initialised}
        monkeypatch.setattr(units, "run", host.systemctl)
        monkeypatch.setattr(converge, "add_ons", lambda *_, **__: None)
        monkeypatch.setattr(etcd_restore, "NodeHost", lambda *, name: host)  # noqa: ARG005
        monkeypatch.setattr(etcd_restore, "unready", lambda *_: None)
        monkeypatch.setattr(host, "speaks", lambda _: False)
        return host

    return prepare


@pytest.fixture
def empty(monkeypatch: pytest.MonkeyPatch) -> Prepare:
    return preparing(monkeypatch)


def restore(host: FakeHost) -> None:
    """Do what the playbook does on the first control host."""
    changes = Changes(check=False)
    etcd_restore.put_keys(changes, GIVEN_KEYS)
    etcd_restore.stop(changes, GIVEN)
    etcd_restore.put(changes, GIVEN)
    run(make_node(initialise=True), host, expected_ca=FINGERPRINT)


def judge(host: FakeHost) -> None:
    """Fail unless it is a member with the keys and the data of the set, and nothing was cleared."""
    paths = host.paths
    assert classify(observe(paths), make_node(), expected_ca=FINGERPRINT) is Membership.MEMBER
    assert half_made.begun(paths) is None
    assert (paths.etcd / "member/snap/db").read_text() == "of the set"
    assert {name: (paths.kubernetes / name).read_text() for name in keys.SHARED if name in TEXTS} == {
        name: text for name, text in TEXTS.items() if name in keys.SHARED
    }
    assert "kubeadm reset" not in host.verbs()
    assert not half_made.kept_of(paths.kubernetes)
    assert "kubelet.service" in host.running


def test_a_host_that_had_nothing_becomes_the_old_clusters_first_wherever_a_run_was_killed(
    empty: Prepare, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    killer, number, ended = Killer(), 0, False
    for kind, names in ((Path, ("rename", "replace", "unlink", "symlink_to")), (FakeHost, ("run", "systemctl"))):
        for name in names:
            monkeypatch.setattr(kind, name, killer.after(getattr(kind, name)))
    while not ended:
        number += 1
        host = empty(tmp_path / str(number))
        killer.left = number
        try:
            restore(host)
            ended = True
        except KeyboardInterrupt:
            killer.left = 0
            restore(host)
        judge(host)
        shutil.rmtree(tmp_path / str(number))
    assert number > 30, "keys, data, files of the layer, kubeadm"


def test_an_init_that_was_killed_is_ended_and_begun_again_without_a_reset(empty: Prepare, tmp_path: Path) -> None:
    host = empty(tmp_path)
    works, runs = host.leaves["kubeadm init"], {"id": "1", "labels": {"io.kubernetes.container.name": "etcd"}}
    runs["labels"] |= {"io.kubernetes.pod.namespace": "kube-system"}  # type: ignore[operator]

    def killed() -> None:
        write(host.paths, "/etc/kubernetes/manifests/etcd.yaml", ETCD)
        host.running.add("kubelet.service")
        host.answers["crictl ps"] = json.dumps({"containers": [runs]})
        raise KeyboardInterrupt

    host.leaves["kubeadm init"] = killed
    with pytest.raises(KeyboardInterrupt):
        restore(host)
    host.leaves["crictl stop"] = lambda: host.answers.update({"crictl ps": json.dumps({"containers": []})})
    host.leaves["kubeadm init"] = works
    restore(host)
    judge(host)
    assert host.services.index(("stop", "kubelet.service")) >= 0
    assert ["crictl", "stop", "--timeout", "10", "1"] in host.commands


def test_each_host_says_whether_it_is_anew(empty: Prepare, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    host = empty(tmp_path)

    def said() -> tuple[bool, bool]:
        found = etcd_restore.look(Changes(check=False), GIVEN)
        return found["anew"], found["member"]

    assert said() == (True, False)
    etcd_restore.put_keys(Changes(check=False), GIVEN_KEYS)
    assert said() == (True, False)
    etcd_restore.put(Changes(check=False), GIVEN)
    assert said() == (True, False)
    with monkeypatch.context() as patched:
        patched.setattr(Etcd, "__init__", lambda *_: None)
        patched.setattr(Etcd, "state", lambda _: {"keys": 5, "revision": 9})
        assert said() == (False, False), "an etcd runs there: of a restore that was given up"
    run(make_node(initialise=True), host, expected_ca=FINGERPRINT)
    write(host.paths, "/etc/kubernetes/manifests/etcd.yaml", ETCD)
    assert said() == (False, True)


def test_keys_alone_start_nothing_and_join_nothing(empty: Prepare, tmp_path: Path) -> None:
    host = empty(tmp_path)
    etcd_restore.put_keys(Changes(check=False), GIVEN_KEYS)
    first = make_node(initialise=True)
    for expected in (None, FINGERPRINT):
        with pytest.raises(GroundupError, match="has begun on control-1, and etcd's data are not in place"):
            run(first, host, expected_ca=expected)
    etcd_restore.put(Changes(check=False), GIVEN)
    for node, join in ((first, JOIN), (make_node(), None)):
        with pytest.raises(GroundupError, match="has begun on control-1, and it would join another one"):
            run(node, host, join=join, expected_ca=FINGERPRINT)
    with pytest.raises(GroundupError, match="belongs to another Kubernetes cluster"):
        run(first, host, expected_ca="0" * 64)
    assert host.verbs() == [f"{GIVEN['program']} snapshot"]
    seen = run(first, host, expected_ca=FINGERPRINT, check=True)
    assert "start the cluster whose keys and etcd were restored" in seen.actions
    assert host.verbs() == [f"{GIVEN['program']} snapshot"]


def test_secrets_are_read_with_the_sets_keys_in_their_order(empty: Prepare, tmp_path: Path) -> None:
    host, new = empty(tmp_path), EncryptionKey(name="site-2", secret="b3RoZXI=")
    node = replace(make_node(initialise=True), encryption_keys=(new, OF_SET))
    prepared = run(replace(node, initialise=False), host, expected_ca=FINGERPRINT)  # a layer run before the restore
    assert prepared.result.joins
    etcd_restore.put_keys(Changes(check=False), GIVEN_KEYS)
    etcd_restore.put(Changes(check=False), GIVEN)
    run(node, host, expected_ca=FINGERPRINT)
    assert encryption.names(host.paths) == ["site-1", encryption.CLEAR]
    judge(host)


def test_the_member_of_etcd_has_the_name_and_address_that_kubeadm_gives_it(empty: Prepare, tmp_path: Path) -> None:
    host = empty(tmp_path)
    etcd_restore.put_keys(Changes(check=False), GIVEN_KEYS)
    etcd_restore.put(Changes(check=False), GIVEN)
    (argv,) = (one for one in host.commands if one[1:3] == ["snapshot", "restore"])
    assert {"--name=control-1", "--initial-advertise-peer-urls=https://10.0.0.16:2380"} <= set(argv)
    assert host.services == []


def test_the_other_hosts_stay_empty(empty: Prepare, tmp_path: Path) -> None:
    host = empty(tmp_path)
    for step in (etcd_restore.stop, etcd_restore.leave):
        step(Changes(check=False), GIVEN)
    assert observe(host.paths).blank
    assert host.commands == []


@pytest.mark.parametrize("killed", [*range(1, 9), 0])
def test_keys_of_a_restore_that_moved_to_another_host_are_set_aside_without_a_program(
    empty: Prepare, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, killed: int
) -> None:
    killer, host = Killer(), empty(tmp_path)
    etcd_restore.put_keys(Changes(check=False), GIVEN_KEYS)
    etcd_restore.put(Changes(check=False), {**GIVEN, "restore": "20260101T000000Z"})
    host.commands.clear()
    for name in ("rename", "unlink"):
        monkeypatch.setattr(Path, name, killer.after(getattr(Path, name)))
    monkeypatch.setattr(shutil, "rmtree", killer.after(shutil.rmtree))
    killer.left = killed
    with contextlib.suppress(KeyboardInterrupt):
        etcd_restore.leave(Changes(check=False), GIVEN)
    killer.left = 0
    for kept in half_made.kept_of(host.paths.kubernetes):
        kept.rename(kept.with_name("kubernetes.20260101T000000Z.before-reset"))  # a second ago
    etcd_restore.leave(Changes(check=False), GIVEN)
    assert host.commands == [], "neither kubeadm nor crictl is there yet"
    assert classify(observe(host.paths), make_node(), expected_ca=FINGERPRINT) is Membership.BLANK
    assert not observe(host.paths).restoring
    assert not (host.paths.kubernetes / keys.ENCRYPTION).exists()
    assert (half_made.kept_of(host.paths.kubernetes)[0] / "pki/ca.key").exists()
    (data,) = half_made.kept_of(host.paths.etcd)
    assert (data / "member/snap/db").read_text() == "of the set"
    assert run(make_node(), host, expected_ca=FINGERPRINT).result.joins
