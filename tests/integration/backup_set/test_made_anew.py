"""A control host that has nothing gets keys and etcd of a real one, and serves who trusted that one."""

from __future__ import annotations

import base64
import http.client
import json
import os
import ssl
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.module_utils._base.wait import wait_until
from ansible_collections.groundup.cloud.plugins.module_utils._kubeadm import (
    documents,
    etcd_restore,
    keys,
    networks,
    static_pods,
)
from ansible_collections.groundup.cloud.plugins.module_utils._kubeadm.api import NodeApi
from ansible_collections.groundup.cloud.plugins.module_utils._kubeadm.host import NodeHost
from ansible_collections.groundup.cloud.plugins.module_utils._kubeadm.kubeconfig import connect
from ansible_collections.groundup.cloud.plugins.module_utils._kubeadm.rolling_restart import unready
from ansible_collections.groundup.cloud.plugins.module_utils._kubeadm.spec import EncryptionKey, Paths
from ansible_collections.groundup.cloud.plugins.plugin_utils import supply
from ansible_collections.groundup.cloud.tests.integration.own_network import ip, own_network
from ansible_collections.groundup.cloud.tests.unit.kubernetes_layer.conftest import CLUSTER, make_node

ADDRESS = "10.0.0.16"
CLUSTER_HERE = replace(CLUSTER, audit=False, endpoint_name=ADDRESS, endpoint_port=CLUSTER.api_port)
KEY = EncryptionKey(name="site-1", secret=base64.b64encode(b"0123456789abcdef" * 2).decode())
NODE = replace(make_node(initialise=True, address=ADDRESS), cluster=CLUSTER_HERE, encryption_keys=(KEY,))
# What takes a kubelet, and what `converge` leaves out of a cluster that was restored.
SKIPPED = "--skip-phases=preflight,kubelet-start,wait-control-plane,kubelet-finalize,addon"
SECRET = "/api/v1/namespaces/default/secrets/kept"
OBJECTS: dict[str, dict[str, Any]] = {
    "/api/v1/namespaces/default/secrets": {"metadata": {"name": "kept"}, "stringData": {"word": "of before"}},
    "/api/v1/namespaces/default/serviceaccounts": {"metadata": {"name": "robot"}},
    "/api/v1/nodes": {"metadata": {"name": NODE.name, "labels": {"kubernetes.io/hostname": NODE.name}}},
}
TOKEN = "/api/v1/namespaces/default/serviceaccounts/robot/token"


@dataclass(frozen=True, kw_only=True)
class ControlHost:
    """A control host below a directory, as kubeadm makes one; etcd and API server run with their manifests' flags."""

    paths: Paths
    programs: Path
    etcd: Path

    def kubeadm(self, *words: str) -> str:
        argv = [str(self.programs / "kubeadm"), "--rootfs", str(self.paths.root), *words]
        argv += ["--config", f"{documents.SITE_DIR}/kubeadm.yaml"]
        done = subprocess.run(argv, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, done.stderr[-2000:]
        return done.stdout

    @contextmanager
    def running(self) -> Iterator[NodeApi]:
        """Have kubeadm initialise it; yield its API."""
        self.paths.init_file.parent.mkdir(parents=True, exist_ok=True)
        self.paths.init_file.write_text(documents.init_config(NODE))
        for phase in (("certs", "all"), ("kubeconfig", "all"), ("etcd", "local"), ("control-plane", "all")):
            self.kubeadm("init", "phase", *phase)
        with ExitStack() as stack:
            for name, place in (("etcd", self.etcd), (static_pods.API, self.programs)):
                stack.enter_context(self._program(name, place / name))
            host = NodeHost(name=NODE.name, paths=self.paths)
            why = wait_until(lambda: unready(host, NODE.api_server), timeout=120, pause=0.5)
            assert not why, why + (self.paths.root / f"{static_pods.API}.log").read_text()[-3000:]
            text = (self.paths.kubernetes / "super-admin.conf").read_text()
            yield stack.enter_context(connect(text, server=NODE.api_server))

    def ends(self) -> None:
        """Do what init does once the API answers."""
        self.kubeadm("init", "--skip-token-print", SKIPPED)

    @contextmanager
    def _program(self, name: str, program: Path) -> Iterator[None]:
        words = [str(one) for one in static_pods.container(name, self.paths)["command"][1:]]
        for path in ("/etc/kubernetes", "/var/lib/etcd"):
            words = [one.replace(path, str(self.paths.at(path))) for one in words]
        argv = ["setpriv", "--pdeathsig", "KILL", "--", str(program), *words]
        with (
            (self.paths.root / f"{name}.log").open("ab") as log,
            subprocess.Popen(argv, stdout=log, stderr=log) as process,
        ):
            try:
                yield
            finally:
                process.kill()

    def snapshot(self) -> Path:
        pki = self.paths.pki / "etcd"
        context = ssl.create_default_context(cafile=str(pki / "ca.crt"))
        context.load_cert_chain(pki / "healthcheck-client.crt", pki / "healthcheck-client.key")
        connection = http.client.HTTPSConnection("127.0.0.1", 2379, context=context, timeout=30)
        connection.request("POST", "/v3/maintenance/snapshot", "{}")
        answer = connection.getresponse()
        assert answer.status == http.HTTPStatus.OK
        file = self.paths.root / "snapshot.db"
        file.write_bytes(b"".join(base64.b64decode(json.loads(line)["result"].get("blob", "")) for line in answer))
        return file


Make = Callable[[str], ControlHost]


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    if os.geteuid():
        pytest.skip("kubeadm and networks of one's own need root")
    if lacking := supply.missing(["kubernetes", "etcd-programs"]):
        pytest.skip(f"the cache lacks {', '.join(lacking)}: run `make supply` first")
    found = supply.ensure(["kubernetes", "etcd-programs"])

    def made(name: str) -> ControlHost:
        place = Paths(tmp_path / name)
        return ControlHost(paths=place, programs=found["kubernetes"].path, etcd=found["etcd-programs"].path)

    with own_network():
        ip("link set lo up", f"address add {ADDRESS}/32 dev lo")
        yield made


@dataclass(frozen=True, kw_only=True)
class Saved:
    """What a set has, and who was known to the cluster of then."""

    keys: str
    snapshot: Path
    robot: str  # token of a service account
    kubelet: str  # kubeconfig


@pytest.fixture
def saved(make: Make, monkeypatch: pytest.MonkeyPatch) -> Saved:
    old = make("old")
    path = old.paths.at(documents.ENCRYPTION)
    path.parent.mkdir(parents=True)
    path.write_text(documents.encryption_config([KEY]))
    with old.running() as api:
        for place, body in OBJECTS.items():
            api.request("POST", place, body)
        old.ends()
        robot = api.request("POST", TOKEN, {"spec": {"expirationSeconds": 3600}})["status"]["token"]
        snapshot = old.snapshot()
    kubelet = old.kubeadm("kubeconfig", "user", "--client-name", f"system:node:{NODE.name}", "--org", "system:nodes")
    monkeypatch.setattr(keys, "NodeHost", lambda *, name: NodeHost(name=name, paths=old.paths))
    taken = keys.take(Changes(check=False), {"name": NODE.name})
    assert {"pod_cidr", "service_cidr"} <= taken["networks"].keys()
    assert networks.differing(taken["networks"], CLUSTER_HERE) == []
    return Saved(keys=taken["content"], snapshot=snapshot, robot=robot, kubelet=kubelet)


def known(api: NodeApi, token: str) -> bool:
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": token}}
    said: dict[str, Any] = api.request("POST", "/apis/authentication.k8s.io/v1/tokenreviews", body)
    return bool(said["status"].get("authenticated"))


def test_an_empty_host_serves_what_the_lost_one_did(make: Make, saved: Saved, monkeypatch: pytest.MonkeyPatch) -> None:
    new = make("new")
    host = NodeHost(name=NODE.name, paths=new.paths)
    monkeypatch.setattr(etcd_restore, "NodeHost", lambda *, name: host)  # noqa: ARG005
    given = {
        "name": NODE.name, "site": "test", "restore": "20261129T150000Z", "source": "20261129T140000Z",
        "content": saved.keys, "snapshot": str(saved.snapshot), "program": str(new.etcd / "etcdutl"),
        "api": NODE.api_server,
    }  # fmt: skip
    assert etcd_restore.look(Changes(check=False), given)["anew"]
    etcd_restore.put_keys(Changes(check=False), given)
    etcd_restore.put(Changes(check=False), given)
    with new.running() as api:
        word = api.request("GET", SECRET)["data"]["word"]
        assert base64.b64decode(word) == b"of before", "its key of Secrets at rest is the set's"
        assert known(api, saved.robot), "tokens of before are signed with the set's key"
        with connect(saved.kubelet, server=NODE.api_server) as kubelet:  # it trusts the server, and is trusted
            assert kubelet.request("GET", f"/api/v1/nodes/{NODE.name}")["metadata"]["name"] == NODE.name
        with connect((new.paths.kubernetes / "admin.conf").read_text(), server=NODE.api_server) as admin:
            assert admin.request("GET", "/api/v1/nodes")["items"]
        for _ in range(2):  # as after a kill
            new.ends()
        said = etcd_restore.look(Changes(check=False), given)
        assert (said["anew"], said["now"]["members"]) == (False, [NODE.name])
