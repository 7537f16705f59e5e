"""A node and a host of files, for the tests of the Kubernetes layer."""

from __future__ import annotations

import datetime
import ipaddress
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.module_utils._base.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.module_utils._host import units
from ansible_collections.groundup.cloud.plugins.module_utils._kubeadm import converge, half_made, images, static_pods
from ansible_collections.groundup.cloud.plugins.module_utils._kubeadm.converge import NodeResult
from ansible_collections.groundup.cloud.plugins.module_utils._kubeadm.host import NodeHost
from ansible_collections.groundup.cloud.plugins.module_utils._kubeadm.spec import EncryptionKey, Join, Node, Paths
from ansible_collections.groundup.cloud.plugins.module_utils._plan.kubernetes import CniPlan, KubernetesPlan, NodeSupply
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

CNI = CniPlan(
    name="flannel", mtu=1450, overhead=50, backend="vxlan", port=8472, images=(), charts=None, releases=()
)  # fmt: skip
CLUSTER = KubernetesPlan(
    version="1.36.3", endpoint_name="kubernetes.test", endpoint_address="10.0.0.2", endpoint_port=6443,
    api_port=6444, pod_cidr="10.233.64.0/18", service_cidr="10.233.0.0/18", dns_domain="cluster.local",
    dns_address="10.233.0.10", cni=CNI, first_control="control-1", etcd_members=1, storage_class="general",
    storage_backend="local", storage_charts=None, storage_releases=(), audit=True, encrypt_secrets=True,
    kubelet={"failSwapOn": False}, ignore_preflight=("SystemVerification",),
    image_repository="registry.test:5000/kubernetes", control_addresses=("10.0.0.11",), edge_ports=(),
)  # fmt: skip
SUPPLY = NodeSupply(registry="registry.test:5000", registry_tls=True)
KEY = "c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0LXNlY3I="
SUBJECT = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "kubernetes")])


def make_node(*, control: bool = True, initialise: bool = False, address: str = "10.0.0.16") -> Node:
    """Return a node of the test cluster."""
    return Node(
        name="control-1" if control else "worker-1",
        control=control,
        initialise=initialise,
        surveyed=initialise,
        address=address,
        site="test",
        cluster=CLUSTER,
        supply=SUPPLY,
        sandbox_image="registry.test:5000/kubernetes/pause:3.10.2",
        images=("registry.test:5000/kubernetes/kube-proxy:v1.36.3",),
        encryption_keys=(EncryptionKey(name="site-1", secret=KEY),) if control else (),
    )


def certificate(
    *,
    days: int = 365,
    names: Sequence[str] = (),
    addresses: Sequence[str] = (),
    key: ec.EllipticCurvePrivateKey | None = None,
) -> x509.Certificate:
    """Return a self-signed certificate that ends in ``days`` days."""
    signer = key or ec.generate_private_key(ec.SECP256R1())
    now = datetime.datetime.now(datetime.UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(SUBJECT)
        .issuer_name(SUBJECT)
        .public_key(signer.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=400))
        .not_valid_after(now + datetime.timedelta(days=days, hours=1))
    )
    if names or addresses:
        known = [x509.IPAddress(ipaddress.ip_address(address)) for address in addresses]
        builder = builder.add_extension(
            x509.SubjectAlternativeName([*(x509.DNSName(name) for name in names), *known]), critical=False
        )
    return builder.sign(signer, hashes.SHA256())


def pem(certificate_: x509.Certificate) -> str:
    """Return a certificate as PEM text."""
    return certificate_.public_bytes(serialization.Encoding.PEM).decode()


class FakeHost(NodeHost):
    """Real files below a directory; commands and services are recorded, and kubeadm leaves what ``leaves`` says."""

    def __init__(self, paths: Paths) -> None:
        super().__init__(name="host-under-test", paths=paths)
        self.commands: list[list[str]] = []
        self.services: list[tuple[str, ...]] = []
        self.running: set[str] = set()
        self.at_boot: set[str] = set()
        self.leaves: dict[str, Callable[[], None]] = {}
        self.answers: dict[str, str] = {}
        self.broken = ""  # what systemctl fails to do
        self.unwell: set[int] = set()  # ports where nobody says that it is well
        self.loaded = 0  # when the kubelet's unit was made that systemd knows

    def run(self, argv: Sequence[str], *, timeout: float, why: str) -> str:  # noqa: ARG002  # NodeHost's signature
        self.commands.append(list(argv))
        command = " ".join(argv[:2])
        self.leaves.get(command, lambda: None)()
        return self.answers.get(command, "")

    def systemctl(self, argv: Sequence[str], **_: object) -> str:
        """Stand for systemd."""
        verb, unit = argv[1], argv[-1]
        file = self.paths.at("/etc/systemd/system/kubelet.service")
        made = file.stat().st_mtime_ns if file.exists() else 0
        if verb == "show":
            state = {
                "ActiveState": "active" if unit in self.running else "inactive",
                "UnitFileState": "enabled" if unit in self.at_boot else "disabled",
                "NeedDaemonReload": "yes" if unit in file.name and self.loaded not in (0, made) else "no",
            }
            self.loaded = self.loaded or made  # systemd reads a unit when it is first asked for it
            return "".join(f"{key}={value}\n" for key, value in state.items())
        if verb == self.broken:
            raise GroundupError(f"systemctl {verb} failed", where="here", why="the test says so", remedy="none")
        self.services.append((verb,) if verb == "daemon-reload" else (verb, unit))
        if verb == "daemon-reload":
            self.loaded = made
        if verb in ("start", "restart"):
            self.running.add(unit)
        if verb == "stop":
            self.running.discard(unit)
        if verb == "enable":
            self.at_boot.add(unit)
        return ""

    def healthy(self, port: int) -> bool:
        return port not in self.unwell

    def verbs(self) -> list[str]:
        """Return the first two words of every command."""
        return [" ".join(argv[:2]) for argv in self.commands]


@dataclass(kw_only=True)
class Seen:
    """What a run said and did; its paths are those of the host."""

    result: NodeResult
    actions: list[str]

    @classmethod
    def of(
        cls,
        node: Node,
        host: FakeHost,
        *,
        join: Join | None = None,
        expected_ca: str | None = None,
        rolling_restart: bool = False,
        check: bool = False,
    ) -> Seen:
        """Converge ``host`` to ``node``."""
        how: dict[str, Any] = {"join": join, "expected_ca": expected_ca, "rolling_restart": rolling_restart}
        result = converge.converge(node, host, Changes(check=check), **how)
        root = str(host.paths.root)
        return cls(result=result, actions=[line.replace(root, "") for line in result.changes.done])


@pytest.fixture
def paths(tmp_path: Path) -> Paths:
    return Paths(root=tmp_path)


@pytest.fixture
def host(paths: Paths, monkeypatch: pytest.MonkeyPatch) -> FakeHost:
    fake = FakeHost(paths)
    monkeypatch.setattr(units, "run", fake.systemctl)
    return fake


KUBECONFIG = """\
apiVersion: v1
clusters:
- cluster:
    server: {server}
  name: test
users:
- name: node
  user:
    client-certificate: {credential}
"""
ROTATING = "/var/lib/kubelet/pki/kubelet-client-current.pem"


def write(paths: Paths, path: str, text: str = "") -> None:
    """Put a file on the host under test."""
    target = paths.at(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text)


def begin(paths: Paths, *, verb: half_made.Verb, cluster: str = "test") -> None:
    """Leave the mark of a run that was killed while kubeadm was at work."""
    half_made.begin(paths, half_made.HalfMade(cluster=cluster, verb=verb))


def finish(paths: Paths, *, control: bool, ca: str, server: str = "https://kubernetes.test:6443") -> None:
    """Leave what kubeadm leaves on a host whose init or join came to its end."""
    conf = KUBECONFIG.format(server=server, credential=ROTATING)
    write(paths, "/etc/kubernetes/pki/ca.crt", ca)
    write(paths, "/etc/kubernetes/kubelet.conf", conf)
    write(paths, ROTATING, pem(certificate()))
    write(paths, "/var/lib/kubelet/config.yaml", "x")
    if control:
        names = ("kubernetes.test", "10.0.0.2", "localhost", "127.0.0.1", "10.0.0.16")
        write(paths, "/etc/kubernetes/pki/apiserver.crt", pem(certificate(names=names)))
        for name in ("admin", "controller-manager", "scheduler"):
            write(paths, f"/etc/kubernetes/{name}.conf", conf)
        for name in ("etcd", "kube-controller-manager", "kube-scheduler"):
            write(paths, f"/etc/kubernetes/manifests/{name}.yaml", "")
        write(paths, "/etc/kubernetes/manifests/kube-apiserver.yaml", MANIFEST)
        write(paths, "/var/lib/etcd/member/wal/0", "")


MANIFEST = """\
spec:
  containers:
  - command:
    - kube-apiserver
    - --advertise-address=10.0.0.16
    - --audit-log-maxage=30
    - --audit-log-maxbackup=10
    - --audit-log-maxsize=100
    - --audit-log-path=/var/log/kubernetes/audit.log
    - --audit-policy-file=/etc/kubernetes/site/audit.yaml
    - --encryption-provider-config=/etc/kubernetes/site/encryption.yaml
    - --profiling=false
    - --secure-port=6444
    - --shutdown-delay-duration=10s
    - --shutdown-watch-termination-grace-period=5s
    image: registry.test:5000/kubernetes/kube-apiserver:v1.36.3
"""


@pytest.fixture(autouse=True)
def spared(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the hosts that waited until the others could do without them: there is no cluster to ask."""
    waited: list[str] = []
    monkeypatch.setattr(converge, "wait_until_spared", lambda node, _: waited.append(node.name))
    for module in (images, static_pods):
        monkeypatch.setattr(module, "hand_over", lambda host: host.commands.append(["hand over"]))
    return waited


CA = pem(certificate())
JOIN = Join(token="abcdef.0123456789abcdef", ca_hash="sha256:00", certificate_key="ff" * 32)


def run(
    node: Node,
    host: FakeHost,
    *,
    join: Join | None = None,
    expected_ca: str | None = None,
    rolling_restart: bool = False,
    check: bool = False,
) -> Seen:
    return Seen.of(node, host, join=join, expected_ca=expected_ca, rolling_restart=rolling_restart, check=check)


@pytest.fixture
def first(host: FakeHost, paths: Paths, monkeypatch: pytest.MonkeyPatch) -> Node:
    """The host that makes the cluster; kubeadm works there, and its API shows both add-ons."""
    host.leaves["kubeadm init"] = lambda: _works(host, paths, control=True)
    host.leaves["kubeadm reset"] = lambda: _reset(paths)
    monkeypatch.setattr(converge, "add_ons", lambda *_, **__: None)
    return make_node(initialise=True)


@pytest.fixture
def worker(host: FakeHost, paths: Paths) -> Node:
    host.leaves["kubeadm join"] = lambda: _works(host, paths, control=False)
    host.leaves["kubeadm reset"] = lambda: _reset(paths)
    return make_node(control=False)


def _works(host: FakeHost, paths: Paths, *, control: bool) -> None:
    finish(paths, control=control, ca=CA)
    host.running.add("kubelet.service")


def _reset(paths: Paths) -> None:
    for name in ("manifests", "pki", "admin.conf", "kubelet.conf", "controller-manager.conf", "scheduler.conf"):
        target = paths.kubernetes / name
        shutil.rmtree(target) if target.is_dir() else target.unlink(missing_ok=True)
    shutil.rmtree(paths.kubelet, ignore_errors=True)
