"""The key of Secrets at rest changes under a real API server and its etcd: all is read, the old key reads none."""

from __future__ import annotations

import base64
import json
import secrets
import urllib.request
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._kubeadm import documents, encryption
from ansible_collections.groundup.cloud.plugins.module_utils._kubeadm.spec import EncryptionKey
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.client import Api
from ansible_collections.groundup.cloud.plugins.plugin_utils.rotate import at_rest
from ansible_collections.groundup.cloud.tests.e2e.waiting import until

from .control_plane import ControlPlane, free_port, programs

SECRETS = 60  # more than a page
OLD, NEW = (EncryptionKey(name=name, secret=base64.b64encode(secrets.token_bytes(32)).decode()) for name in "ab")
CLEAR = EncryptionKey(name=documents.CLEAR)


class Server(ControlPlane):
    """An API server whose keys change with a restart, on an etcd that stays."""

    def __init__(self, directory: Path, found: dict[str, Path]) -> None:
        super().__init__(directory, found)
        self.etcd, self.port, self.keys = free_port(), free_port(), directory / "encryption.yaml"

    def start(self) -> None:
        peer = free_port()
        (self.directory / "tokens.csv").write_text('test-only,admin,admin,"system:masters"\n')
        self.key = self._key()
        self._run(
            "etcd", f"--data-dir={self.directory}/etcd", f"--listen-client-urls=http://127.0.0.1:{self.etcd}",
            f"--advertise-client-urls=http://127.0.0.1:{self.etcd}", f"--listen-peer-urls=http://127.0.0.1:{peer}",
            "--unsafe-no-fsync",
        )  # fmt: skip

    def use(self, *keys: EncryptionKey) -> Api:
        """Run the API server with ``keys``, and return a client of it."""
        self.begin(*keys)
        self._wait_ready(self.port, self.directory / "certificates/apiserver.crt")
        return Api(self.kubeconfig)

    def begin(self, *keys: EncryptionKey) -> None:
        """Run the API server with ``keys``."""
        while len(self._running) > 1:
            former = self._running.pop()
            former.terminate()
            former.wait(timeout=60)
        self.keys.write_text(documents.encryption_config(keys))
        certificates = self.directory / "certificates"
        self._run(
            "kube-apiserver", f"--etcd-servers=http://127.0.0.1:{self.etcd}", f"--cert-dir={certificates}",
            "--bind-address=127.0.0.1", f"--secure-port={self.port}",
            f"--token-auth-file={self.directory}/tokens.csv",
            "--service-account-issuer=https://kubernetes.default.svc", f"--service-account-key-file={self.key}",
            f"--service-account-signing-key-file={self.key}", "--service-cluster-ip-range=10.255.0.0/24",
            "--authorization-mode=RBAC", "--disable-admission-plugins=ServiceAccount",
            f"--encryption-provider-config={self.keys}",
        )  # fmt: skip

    def log(self) -> str:
        """Return what the API server that runs has said."""
        return (self.directory / "kube-apiserver.log").read_text()

    def stored(self) -> Counter[str]:
        """Return the number of Secrets in etcd by the key that has written them, read past the API."""
        begin = base64.b64encode(encryption.SECRETS.encode()).decode()
        end = base64.b64encode(b"/registry/secrets0").decode()
        body = json.dumps({"key": begin, "range_end": end}).encode()
        with urllib.request.urlopen(f"http://127.0.0.1:{self.etcd}/v3/kv/range", body, timeout=30) as answer:
            found = json.load(answer).get("kvs", ())
        return Counter(encryption.writer(base64.b64decode(one["value"])) for one in found)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    found, reason = programs()
    if not found:
        pytest.skip(reason)
    running = Server(tmp_path_factory.mktemp("at-rest"), found)
    try:
        running.start()
        yield running
    finally:
        running.stop()


def values(api: Api) -> dict[str, str]:
    items = api.get("/api/v1/namespaces/default/secrets")["items"]
    return {item["metadata"]["name"]: item["data"]["value"] for item in items}


def test_every_secret_is_written_anew_and_the_old_key_reads_none(server: Server) -> None:
    api = server.use(CLEAR)
    for number in range(SECRETS):
        body = {
            "apiVersion": "v1", "kind": "Secret", "metadata": {"name": f"s{number}"},
            "data": {"value": base64.b64encode(str(number).encode()).decode()},
            "immutable": number % 2 == 0,
        }  # fmt: skip
        api.request("POST", "/api/v1/namespaces/default/secrets", body=body)
    before = values(api)
    assert server.stored() == {documents.CLEAR: SECRETS}
    api = server.use(OLD, CLEAR)  # turned on
    assert values(api) == before
    assert at_rest.rewrite(api) == SECRETS
    assert server.stored() == {"a": SECRETS}
    api = server.use(NEW, OLD)  # rotated
    assert values(api) == before
    assert at_rest.rewrite(api) == SECRETS
    assert server.stored() == {"b": SECRETS}
    server.begin(OLD, CLEAR)  # it never becomes ready
    until(lambda: "no matching key was found" in server.log(), seconds=120)
