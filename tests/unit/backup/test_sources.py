"""What a set is read from: which member, which host; and the scratch pod."""

from __future__ import annotations

import base64
import io
import json
import socket
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.module_utils._kubeadm import keys
from ansible_collections.groundup.cloud.plugins.module_utils._kubeadm.host import NodeHost
from ansible_collections.groundup.cloud.plugins.module_utils._kubeadm.spec import Paths
from ansible_collections.groundup.cloud.plugins.plugin_utils.backup.sets import etcd, mariadb, scratch, take
from ansible_collections.groundup.cloud.plugins.plugin_utils.backup.sets.disk import SetShelf
from ansible_collections.groundup.cloud.plugins.plugin_utils.backup.sets.handed import Handed
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.client import ApiError, Executed
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.piped import PodContainer
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.vault import open_store

WRITER = {"openstack.groundup.cloud/writer": "true"}


def pod(name: str, *, ready: bool = True, labels: dict[str, str] | None = None) -> dict[str, Any]:
    condition = {"type": "Ready", "status": "True" if ready else "False"}
    return {"metadata": {"name": name, "labels": labels or {}}, "status": {"conditions": [condition]}}


class Pods:
    def __init__(self, *pods: dict[str, Any]) -> None:
        self.pods = pods

    def get(self, _path: str, **_: str) -> dict[str, Any]:
        return {"items": list(self.pods)}


def chosen(monkeypatch: pytest.MonkeyPatch, *pods: dict[str, Any], states: dict[str, str] | None = None) -> str:
    def run(member: Any, *_: Any, **__: Any) -> Executed:
        return Executed(code=0, stdout=(states or {}).get(member.pod, "Synced") + "\n", stderr="")

    monkeypatch.setattr(PodContainer, "run", run)
    api: Any = Pods(*pods)
    return mariadb.choose(api, "openstack").pod


def test_the_member_that_writes_is_the_last_choice(monkeypatch: pytest.MonkeyPatch) -> None:
    zero, one, two = (f"mariadb-server-{number}" for number in range(3))
    assert chosen(monkeypatch, pod(zero), pod(one), pod(two, labels=WRITER)) == one
    assert chosen(monkeypatch, pod(zero, labels={"mariadb_role": "primary"}), pod(one), pod(two)) == two
    assert chosen(monkeypatch, pod(zero), pod(one, labels=WRITER), pod(two, ready=False)) == zero
    assert chosen(monkeypatch, pod(zero, labels=WRITER), pod(one), states={one: "Donor/Desynced"}) == zero
    assert chosen(monkeypatch, pod(zero, labels=WRITER)) == zero
    with pytest.raises(GroundupError, match=f"{one}: Joined; {zero} is not Ready"):
        chosen(monkeypatch, pod(zero, ready=False), pod(one), states={one: "Joined"})
    with pytest.raises(GroundupError, match="no member has a pod"):
        chosen(monkeypatch)


def test_a_member_that_does_not_answer_ends_no_backup_while_another_one_does(
    plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    away = ApiError("cannot reach it", where="a pod", status=0)

    def run(member: Any, *_: Any, **__: Any) -> Executed:
        if member.pod == "mariadb-server-1":
            raise away
        return Executed(code=int(member.pod == "mariadb-server-2"), stdout="Synced", stderr="broken")

    monkeypatch.setattr(PodContainer, "run", run)
    api: Any = Pods(*(pod(f"mariadb-server-{number}") for number in range(3)))
    assert mariadb.choose(api, "openstack").pod == "mariadb-server-0"
    api.pods = api.pods[1:]
    with pytest.raises(GroundupError, match=r"up: mariadb-server-2: broken; mariadb-server-1: cannot reach it"):
        mariadb.choose(api, "openstack")

    def connect(_space: str, name: str, _port: int) -> Any:
        if name != "etcd-3":
            raise {"etcd-1": away, "etcd-2": ConnectionResetError()}[name]
        return nullcontext(socket.socket())

    api.connect, api.pods = connect, tuple(pod(f"etcd-{number}") for number in range(1, 4))
    context = SimpleNamespace(wrap_socket=lambda plain, **_: nullcontext(plain))
    monkeypatch.setattr(etcd, "client_context", lambda **_: context)
    monkeypatch.setattr(take, "credentials", lambda _: {"ca": "", "certificate": "", "key": ""})
    monkeypatch.setattr(etcd.EtcdConnection, "state", lambda _: {})
    keys = {"kubernetes-keys": Handed(part="kubernetes-keys", host="control-1", said={})}
    store = open_store(plan.site, write=False)
    sources = take.Sources(plan=plan, site_file="", handed=keys, api=api, store=store, database=None)
    with sources.etcd() as (name, _connection):
        assert name == "etcd-3"
    with pytest.raises(GroundupError, match="of the caller"), sources.etcd():
        raise GroundupError("of the caller", where="", why="", remedy="")
    api.pods = api.pods[:2]
    with pytest.raises(GroundupError, match="etcd cannot be backed up: cannot reach it"), sources.etcd():
        pass


def test_etcd_without_a_ready_member_is_told() -> None:
    api: Any = Pods(pod("etcd-control-1", ready=False))
    with pytest.raises(GroundupError, match="none of 1 members is Ready"):
        etcd.members(api)


def test_lost_rows_are_told_and_those_that_came_and_went_are_not() -> None:
    assert [
        etcd.lacks(recorded, found) for recorded, found in (([100, 104], 102), ([100, 90], 85), ([5000, 5000], 4960))
    ] == [""] * 3
    assert etcd.lacks([3, 3], 0) == "0, there were 3"
    assert etcd.lacks([5000, 5100], 4900) == "4900, there were 5000"
    assert etcd.lacks([0, 0], 0) == ""


@pytest.mark.parametrize("text", ["", "rows\ta\tb\tmany", "rows\ta", "other\ta\tb\tc"])
def test_an_answer_that_is_not_understood_is_no_count(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        mariadb.parse(text)


def of_manifest(flag: str) -> str:
    return json.dumps({"spec": {"containers": [{"command": ["program", f"--{flag}"]}]}})


OF_CLUSTER = {
    "/etc/kubernetes/manifests/kube-apiserver.yaml": of_manifest("service-cluster-ip-range=10.233.0.0/18"),
    "/etc/kubernetes/manifests/kube-controller-manager.yaml": of_manifest("cluster-cidr=10.233.64.0/18"),
    "/var/lib/kubelet/config.yaml": json.dumps({"clusterDNS": ["10.233.0.10"], "clusterDomain": "cluster.local"}),
    "/etc/cni/net.d/10-flannel.conflist": "{}",
}


def test_a_host_hands_over_every_key_or_none(plan: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = Paths(tmp_path)
    monkeypatch.setattr(keys, "NodeHost", lambda name: NodeHost(name=name, paths=paths))
    given, changes = {"name": "control-1"}, Changes(check=True)
    assert keys.take(changes, given)["leader"] is False
    for name in (*keys.NEEDED, "pki/etcd/healthcheck-client.crt"):
        (paths.kubernetes / name).parent.mkdir(parents=True, exist_ok=True)
        (paths.kubernetes / name).write_text("key")
    looked = keys.take(changes, given)
    assert (looked["leader"], "content" in looked) == (True, False), "in check mode no key leaves the host"
    (paths.kubernetes / "site").mkdir()
    (paths.kubernetes / keys.ENCRYPTION).write_text("key")
    packed = base64.b64decode(keys.take(Changes(check=False), given)["content"])
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        assert keys.ENCRYPTION in archive.getnames()
    assert looked["networks"] == {}
    for place, text in OF_CLUSTER.items():
        paths.at(place).parent.mkdir(parents=True, exist_ok=True)
        paths.at(place).write_text(text)
    networks = {
        "service_cidr": "10.233.0.0/18", "dns_address": "10.233.0.10", "pod_cidr": "10.233.64.0/18",
        "dns_domain": "cluster.local", "cni": "flannel",
    }  # fmt: skip
    said = keys.take(changes, given)
    assert said["networks"] == networks
    assert Handed(part="kubernetes-keys", host="control-1", said=said).about(plan) == {
        "files": len(said["files"]), "networks": networks
    }  # fmt: skip
    (paths.pki / "sa.key").unlink()
    lacks = keys.take(Changes(check=False), given)
    assert (lacks["leader"], "content" in lacks) == (False, False)


def test_the_scratch_pod_is_restricted_and_takes_over_where_it_may_run() -> None:
    spec = {"containers": [{"name": "mariadb", "image": "registry/mariadb@sha256:1"}], "nodeSelector": {"a": "b"}}
    made = scratch.manifest("x", like={"spec": spec})["spec"]
    (container,) = made["containers"]
    assert (container["image"], made["nodeSelector"]) == ("registry/mariadb@sha256:1", {"a": "b"})
    # https://kubernetes.io/docs/concepts/security/pod-security-standards/#restricted
    assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    assert container["securityContext"]["allowPrivilegeEscalation"] is False
    assert made["securityContext"]["runAsNonRoot"] is True
    assert made["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert [set(one) - {"name"} for one in made["volumes"]] == [{"emptyDir"}, {"emptyDir"}]


class Running:
    """A cluster whose pods run images of OpenStack."""

    def __init__(self, *tags: str, jobs: str = "") -> None:
        self.pods = [self.pod(tag, "ReplicaSet") for tag in tags] + ([self.pod(jobs, "Job")] if jobs else [])

    @staticmethod
    def pod(tag: str, owner: str) -> dict[str, Any]:
        owners = [{"kind": owner, "name": "nova", "controller": True}]
        return {
            "metadata": {"name": "nova", "ownerReferences": owners},
            "spec": {"containers": [{"image": f"registry:5000/groundup/openstack:{tag}"}]},
        }

    def get(self, path: str, **query: str) -> dict[str, Any]:
        if path == "/version":
            return {"gitVersion": "v1.36.3"}
        assert path == "/api/v1/namespaces/openstack/pods"
        assert query["fieldSelector"] == "status.phase=Running"
        assert "keystone" in query["labelSelector"]
        return {"items": self.pods}


@pytest.mark.parametrize(
    ("cluster", "told"),
    [
        (Running("2026.1", "2026.1", jobs="2025.2"), "2026.1"),
        (Running("2026.1", "2026.2"), "2026.1, 2026.2"),
        (Running(), "2026.2"),
    ],
)
def test_a_set_is_of_the_release_that_runs_whatever_the_site_file_names(
    plan: Plan, shelf: SetShelf, cluster: Any, told: str
) -> None:
    class Some(take.Sources):
        @contextmanager
        def open(self, part: str) -> Iterator[tuple[str, Any]]:
            about = {"files": 1, "version": "1", "keys": [1], "rows": {}, "heads": {}}
            yield "a test", lambda write: (write(part.encode()), about)[1]

    plan = replace(plan, openstack=replace(plan.openstack, release="2026.2"))
    store = open_store(plan.site, write=False)
    sources = Some(plan=plan, site_file="", handed={}, api=cluster, store=store, database=None)
    assert take.take(sources, shelf).versions["OpenStack"] == told
