"""Control hosts that were all made anew, when a kill, a person's command or the former cluster comes between."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.module_utils._base.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.module_utils._kubeadm import access, etcd_restore
from ansible_collections.groundup.cloud.plugins.module_utils._kubeadm.state import observe

from .conftest import CA, CLUSTER, make_node, run, write
from .test_etcd_restore import GIVEN
from .test_kubeconfig import kubeconfig
from .test_made_anew import FINGERPRINT, GIVEN_KEYS, Prepare, judge, preparing, restore


@pytest.fixture
def empty(monkeypatch: pytest.MonkeyPatch) -> Prepare:
    return preparing(monkeypatch)


def test_data_that_are_gone_are_put_back_once_more(empty: Prepare, tmp_path: Path) -> None:
    """`kubeadm reset`, which remedies advise, and the mark's removal leave the record of what was put."""
    host = empty(tmp_path)
    restore(host)
    assert etcd_restore.look(Changes(check=False), GIVEN)["passed"] == {"restore": GIVEN["restore"], "did": "put"}
    for place in (host.paths.pki, host.paths.kubernetes / "manifests", host.paths.kubelet, host.paths.etcd):
        shutil.rmtree(place)
    for name in ("admin", "kubelet", "controller-manager", "scheduler"):
        (host.paths.kubernetes / f"{name}.conf").unlink()
    host.running.clear()
    said = etcd_restore.look(Changes(check=False), GIVEN)
    assert (said["anew"], said["passed"]) == (True, {})
    restore(host)
    judge(host)


def test_data_whose_record_a_kill_prevented_are_not_started_but_put_again(
    empty: Prepare, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    host = empty(tmp_path)
    write(host.paths, f"/etc/kubernetes/site/{etcd_restore.RECORD}", '{"restore": "20260101T000000Z", "did": "put"}')
    with monkeypatch.context() as patched:
        patched.setattr(etcd_restore, "_record", killed)
        with pytest.raises(KeyboardInterrupt):
            restore(host)
    assert observe(host.paths).etcd_data
    with pytest.raises(GroundupError, match="has begun on control-1, and etcd's data are not in place"):
        run(make_node(initialise=True), host, expected_ca=FINGERPRINT)
    assert "kubeadm init" not in host.verbs(), "what it writes, a restore that goes on would undo"
    restore(host)
    judge(host)


@pytest.mark.parametrize("living", ["https://10.0.0.17:6444", "https://10.0.0.2:6443"])
def test_the_restored_cluster_never_starts_beside_a_former_one_that_answers(
    empty: Prepare, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, living: str
) -> None:
    """A run was killed once the data were in place; then the other control hosts came back."""
    host = empty(tmp_path)
    etcd_restore.put_keys(Changes(check=False), GIVEN_KEYS)
    etcd_restore.put(Changes(check=False), GIVEN)
    cluster = replace(CLUSTER, control_addresses=("10.0.0.16", "10.0.0.17"))
    node = replace(make_node(initialise=True), cluster=cluster)
    monkeypatch.setattr(host, "speaks", lambda server: server == living)
    for check in (True, False):
        with pytest.raises(
            GroundupError, match=f"the cluster that was restored answers, or hangs, at {living}"
        ) as caught:
            run(node, host, expected_ca=FINGERPRINT, check=check)
    assert "overwrite" in caught.value.remedy
    assert "kubeadm init" not in host.verbs()
    own = ("https://10.0.0.16:6444", "https://10.0.0.2:6443")
    monkeypatch.setattr(host, "speaks", lambda server: server in own)
    write(host.paths, "/etc/kubernetes/manifests/etcd.yaml")  # of an init that was killed: the endpoint is its own
    run(node, host, expected_ca=FINGERPRINT)
    judge(host)


def test_a_kubelet_that_a_reboot_started_without_manifests_is_stopped_before_kubeadm(
    empty: Prepare, tmp_path: Path
) -> None:
    host = empty(tmp_path)
    etcd_restore.put_keys(Changes(check=False), GIVEN_KEYS)
    etcd_restore.put(Changes(check=False), GIVEN)
    host.running.add("kubelet.service")  # an init was killed, then the next run, once it had removed the manifests
    works = host.leaves["kubeadm init"]

    def refuses() -> None:
        assert "kubelet.service" not in host.running, "Port 10250 is in use"
        works()

    host.leaves["kubeadm init"] = refuses
    run(make_node(initialise=True), host, expected_ca=FINGERPRINT)
    judge(host)


def test_a_check_foresees_the_start_of_a_restored_host_and_no_other_cluster(empty: Prepare, tmp_path: Path) -> None:
    host = empty(tmp_path)
    asked: dict[str, Any] = {"server": "https://10.0.0.2:6443", "expected_ca": FINGERPRINT}
    with pytest.raises(GroundupError, match="no control host that answers belongs to it"):
        access.admin_kubeconfig(host, may_miss=True, **asked)
    etcd_restore.put_keys(Changes(check=False), GIVEN_KEYS)
    etcd_restore.put(Changes(check=False), GIVEN)
    assert access.admin_kubeconfig(host, may_miss=True, **asked) is None
    with pytest.raises(GroundupError, match="no control host that answers belongs to it"):
        access.admin_kubeconfig(host, may_miss=False, **asked)


def test_a_check_says_that_the_restored_cluster_is_still_to_be_started(
    empty: Prepare, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = empty(tmp_path)
    monkeypatch.setattr(access, "NodeHost", lambda *, name: host)  # noqa: ARG005
    asked: dict[str, Any] = {
        "name": "control-1", "server": "https://10.0.0.2:6443", "api": "https://10.0.0.16:6444", "workers": False,
        "control": False, "cluster": None, "expected_ca": FINGERPRINT,
    }  # fmt: skip
    etcd_restore.put_keys(Changes(check=False), GIVEN_KEYS)
    etcd_restore.put(Changes(check=False), GIVEN)
    for left in ("", kubeconfig(CA)):  # an init that was killed has made the file, and its API may not run
        if left:
            write(host.paths, "/etc/kubernetes/admin.conf", left)
        assert access.hand_out(Changes(check=True), asked)["starts"]
    run(make_node(initialise=True), host, expected_ca=FINGERPRINT)
    write(host.paths, "/etc/kubernetes/admin.conf", kubeconfig(CA))
    for check in (True, False):
        assert not access.hand_out(Changes(check=check), asked)["starts"]
