"""A real etcd, kube-apiserver and kube-controller-manager on loopback, without nodes: enough for helm and watches."""

from __future__ import annotations

import base64
import itertools
import os
import secrets
import socket
import subprocess
import time
from contextlib import ExitStack
from pathlib import Path
from typing import IO

import yaml
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.client import Api
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply import ensure, missing
from ansible_collections.groundup.cloud.tests.unit.certificates import issue
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

PROGRAMS = {
    "kube-apiserver": "kubernetes",
    "kube-controller-manager": "kubernetes",
    "etcd": "etcd-programs",
    "helm": "helm",
}
TOKEN = "test-only"  # of an API server on loopback that lives as long as the tests


def programs() -> tuple[dict[str, Path], str]:
    """Return where the programs are, or why they are not here. Nothing is built for a test."""
    given = os.environ.get("GROUNDUP_TEST_PROGRAMS")
    if given:
        return {name: Path(given) / name for name in PROGRAMS}, ""
    try:
        lacking = missing(sorted(set(PROGRAMS.values())))
        if lacking:
            return {}, f"the cache lacks {', '.join(lacking)}: run `make supply` first"
        artifacts = ensure(sorted(set(PROGRAMS.values())))
    except GroundupError as error:
        return {}, str(error)
    return {name: artifacts[artifact].path / name for name, artifact in PROGRAMS.items()}, ""


# Below the ports that the kernel gives to connections; each of 16 workers has those of its own.
_FIRST, _WORKERS, _EACH = 20000, 16, 600
_WORKER = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")) % _WORKERS
_NEXT = itertools.count(secrets.randbelow(_EACH))


def free_port() -> int:
    """Return a TCP port nobody listens on, and nobody else is given before its program listens there."""
    while True:
        port = _FIRST + _WORKERS * (next(_NEXT) % _EACH) + _WORKER
        with socket.socket() as listener:
            if listener.connect_ex(("127.0.0.1", port)):
                return port


class ControlPlane:
    """Starts the three programs; `stop` ends exactly those."""

    def __init__(self, directory: Path, found: dict[str, Path]) -> None:
        self.directory, self._programs = directory, found
        self.kubeconfig = directory / "kubeconfig"
        self.helm = found["helm"]
        self.authority = issue("kubernetes", ca=True)  # whose client certificates the API server takes
        self._running: list[subprocess.Popen[bytes]] = []
        self._files = ExitStack()

    def start(self) -> None:
        """Start them, and return when the API server is ready. Raises AssertionError with its log when it is not."""
        etcd, peer, api = free_port(), free_port(), free_port()
        key = self._key()
        (self.directory / "ca.crt").write_text(self.authority.pem)
        (self.directory / "tokens.csv").write_text(f'{TOKEN},admin,admin,"system:masters"\n')
        self._run(
            "etcd", f"--data-dir={self.directory}/etcd", f"--listen-client-urls=http://127.0.0.1:{etcd}",
            f"--advertise-client-urls=http://127.0.0.1:{etcd}", f"--listen-peer-urls=http://127.0.0.1:{peer}",
            "--unsafe-no-fsync",
        )  # fmt: skip
        certificates = self.directory / "certificates"
        self._run(
            "kube-apiserver", f"--etcd-servers=http://127.0.0.1:{etcd}", f"--cert-dir={certificates}",
            "--bind-address=127.0.0.1", f"--secure-port={api}", f"--token-auth-file={self.directory}/tokens.csv",
            f"--client-ca-file={self.directory}/ca.crt",
            "--service-account-issuer=https://kubernetes.default.svc", f"--service-account-key-file={key}",
            f"--service-account-signing-key-file={key}", "--service-cluster-ip-range=10.255.0.0/24",
            "--authorization-mode=Node,RBAC", "--disable-admission-plugins=ServiceAccount", "--allow-privileged=true",
            "--kubelet-preferred-address-types=InternalIP",
        )  # fmt: skip
        self._wait_ready(api, certificates / "apiserver.crt")
        self._run(
            "kube-controller-manager", f"--kubeconfig={self.kubeconfig}", "--leader-elect=false",
            "--controllers=*,-node-lifecycle-controller,-taint-eviction-controller,-serviceaccount-token-controller",
            f"--secure-port={free_port()}", "--bind-address=127.0.0.1", f"--cert-dir={certificates}",
        )  # fmt: skip

    def stop(self) -> None:
        """End what was started, the last first."""
        for process in reversed(self._running):
            process.terminate()
        for process in reversed(self._running):
            try:
                process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self._files.close()

    def _run(self, name: str, *arguments: str) -> None:
        log: IO[bytes] = self._files.enter_context((self.directory / f"{name}.log").open("wb"))
        command = ["setpriv", "--pdeathsig", "KILL", "--", str(self._programs[name]), *arguments]
        self._running.append(subprocess.Popen(command, stdout=log, stderr=log))

    def _key(self) -> Path:
        path = self.directory / "service-account.key"
        key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        path.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            )
        )
        path.chmod(0o600)
        return path

    def _write_kubeconfig(self, port: int, certificate: Path) -> None:
        authority = base64.b64encode(certificate.read_bytes()).decode()
        cluster = {"server": f"https://127.0.0.1:{port}", "certificate-authority-data": authority}
        content = {
            "apiVersion": "v1", "kind": "Config", "current-context": "test",
            "clusters": [{"name": "test", "cluster": cluster}],
            "users": [{"name": "test", "user": {"token": TOKEN}}],
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}],
        }  # fmt: skip
        self.kubeconfig.write_text(yaml.safe_dump(content))

    def _wait_ready(self, port: int, certificate: Path) -> None:
        end = time.monotonic() + 300
        while time.monotonic() < end:
            try:
                self._write_kubeconfig(port, certificate)
                if Api(self.kubeconfig).text("/readyz") == "ok":
                    return
            except (GroundupError, OSError):
                pass  # not there yet; the log below says why when it never is
            time.sleep(0.3)
        tail = (self.directory / "kube-apiserver.log").read_text()[-2000:]
        raise AssertionError(f"kube-apiserver is not ready:\n{tail}")
