"""Write the files and run the services that a node needs, before and after it joins."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from .._base.changes import Changes
from .._base.errors import GroundupError
from .._base.files import link, place, read, write_file
from .._base.wait import wait_until
from .._host import downloads, units
from . import containerd, data, documents, name_service
from .containerd import AUTH
from .host import NodeHost
from .spec import Node

CONTAINERD = "containerd.service"
CERTIFICATES = "/etc/containerd/certs.d"
KUBELET = "kubelet.service"
KUBELET_SETTINGS = "/etc/kubernetes/kubelet.conf.d/10-site.conf"
HEALTH_PORT = 10248  # kubelet's own default
HEALTH_WAIT = 60.0  # seconds from its start until healthy; usually two


class UnhealthyError(GroundupError):
    """A service was started but is not running."""


@dataclass(frozen=True, slots=True, kw_only=True)
class File:
    """A file and its full content."""

    path: str
    text: str
    mode: int = 0o644
    secret: bool = False  # its content is never shown
    restarts: str | None = None  # the service that reads it only at its start


def wanted(node: Node) -> tuple[File, ...]:
    """Return all files of the node, configuration first."""
    files = [
        File(
            path="/etc/containerd/config.toml",
            text=containerd.config(node),
            restarts=CONTAINERD,
            mode=0o600 if node.registry_login else 0o644,
            secret=bool(node.registry_login),
        ),
        File(path=containerd.LIMITS, text=containerd.LIMITS_TEXT, restarts=CONTAINERD),
        *_registry(node),
        File(path="/etc/crictl.yaml", text=containerd.crictl_config()),
        File(path=data.SCRIPT, text=data.SCRIPT_TEXT, mode=0o755),
        File(path="/etc/systemd/system/kubelet.service", text=documents.KUBELET_UNIT, restarts=KUBELET),
        File(path=KUBELET_SETTINGS, text=documents.kubelet_settings(node), mode=0o600, restarts=KUBELET),
    ]
    if node.control:
        private = {f"{documents.SITE_DIR}/kubeadm.yaml": documents.init_config(node)}
        private |= {f"{documents.PATCHES_DIR}/{name}": text for name, text in documents.patches(node).items()}
        if node.cluster.audit:
            private[f"{documents.SITE_DIR}/audit.yaml"] = documents.audit_policy()
        files += [File(path=path, text=text, mode=0o600) for path, text in private.items()]
        if node.cluster.encrypt_secrets and node.encryption_keys:
            text = documents.encryption_config(node.encryption_keys)
            files.append(File(path=documents.ENCRYPTION, text=text, mode=0o600, secret=True))
    return tuple(files)


def _registry(node: Node) -> Iterator[File]:
    """Yield the files that containerd reads for the registry at each pull, the CA first."""
    place = f"{CERTIFICATES}/{node.supply.registry.partition('/')[0]}"
    ca = f"{place}/ca.crt" if node.ca_certificate and node.supply.registry_tls else None
    if ca:
        yield File(path=ca, text=f"{str(node.ca_certificate).strip()}\n")
    text = containerd.registry_hosts(node.supply.registry, tls=node.supply.registry_tls, ca=ca)
    yield File(path=f"{place}/hosts.toml", text=text)


def prepare(node: Node, host: NodeHost, changes: Changes, *, member: bool) -> None:
    """Write the node's files, download its programs, and start or restart the services that use them.

    If a member's kubelet is not healthy with its new settings, the former ones are restored.
    Raises GroundupError, OSError.
    """
    paths, marks = host.paths, host.paths.at(str(units.MARKS))
    port = _health_port(node) if member else None  # before it joins, a kubelet may lack its configuration
    healthy = (lambda: _wait_until_healthy(host, port)) if port else None
    containerd = units.Unit(changes, CONTAINERD, marks=marks)
    kubelet = units.Unit(changes, KUBELET, marks=marks, healthy=healthy)
    readers = {CONTAINERD: containerd, KUBELET: kubelet}
    settings = paths.at(KUBELET_SETTINGS)
    before = read(settings)
    for file in wanted(node):
        to = readers[file.restarts].place if file.restarts else partial(place, changes)
        secret = file.secret or f".registry{AUTH}" in (read(paths.at(file.path)) or "")
        to(paths.at(file.path), file.text, mode=file.mode, secret=secret)
    resolv = (read(paths.at(source)) or "" for source in name_service.SOURCES)
    servers = name_service.resolvers(resolv, service_cidr=node.cluster.service_cidr)
    for name, text in name_service.files(servers).items():
        place(changes, paths.at(f"{name_service.DIRECTORY}/{name}"), text, mode=0o644)
    for download in node.downloads:
        reader = kubelet if download.path.endswith("/kubelet") else None
        downloads.install(changes, download, paths.at(download.path), ca=node.ca_certificate, reader=reader)
    # Pod networks look for the OS's CNI plugins in this directory, and add their own.
    source, target = paths.at("/usr/lib/cni"), paths.at("/opt/cni/bin")
    for plugin in sorted(source.iterdir()) if source.is_dir() else ():
        if not (target / plugin.name).exists():
            link(changes, target / plugin.name, f"/usr/lib/cni/{plugin.name}")
    containerd.running()
    try:
        if member:
            kubelet.running()
        else:
            kubelet.refreshed(enable=True)  # kubeadm starts it
    except UnhealthyError:
        if before is not None and before != read(settings):
            write_file(settings, before.encode(), mode=0o600)
            units.control("restart", KUBELET)
        raise


def _health_port(node: Node) -> int | None:
    """Return the port of the kubelet's /healthz on the loopback address; None if the site's settings offer none."""
    port = node.cluster.kubelet.get("healthzPort", HEALTH_PORT)
    address = node.cluster.kubelet.get("healthzBindAddress", "127.0.0.1")
    here = address in {"127.0.0.1", "0.0.0.0"}  # noqa: S104  # compared only, nothing listens here
    return port if isinstance(port, int) and port > 0 and here else None


def _wait_until_healthy(host: NodeHost, port: int) -> None:
    if wait_until(lambda: not host.healthy(port), timeout=HEALTH_WAIT):
        raise UnhealthyError(
            f"{KUBELET} does not run {HEALTH_WAIT:.0f} s after its start",
            where=f"host {host.name}, http://127.0.0.1:{port}/healthz",
            why="its node would take no pods and soon count as lost; settings this run replaced are put back",
            remedy=f"see journalctl -u {KUBELET} on the host; if it names a field of its settings, "
            "correct kubernetes.kubelet of the site file; then run this again",
        )
