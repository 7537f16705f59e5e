"""The files and services a host needs before it can be a node, and keeps while it is one."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from . import documents
from .errors import UnwellError
from .host import Host
from .outcome import Outcome
from .services import Service
from .spec import Download, Node, Paths

CONTAINERD = "containerd.service"
KUBELET = "kubelet.service"
KUBELET_SETTINGS = "/etc/kubernetes/kubelet.conf.d/10-site.conf"
HEALTH_PORT = 10248  # kubelet's own default


@dataclass(frozen=True, slots=True, kw_only=True)
class File:
    """One file with its whole content."""

    path: str
    text: str
    mode: int = 0o644
    secret: bool = False  # its content is never shown
    restarts: str | None = None  # the service that reads it only when it starts


def wanted(node: Node) -> tuple[File, ...]:
    """Return every file of the node, configuration first."""
    files = [
        File(path="/etc/containerd/config.toml", text=documents.containerd_config(node), restarts=CONTAINERD),
        File(
            path=f"/etc/containerd/certs.d/{node.registry}/hosts.toml",
            text=documents.registry_hosts(node.registry, tls=node.registry_tls),
        ),
        File(path="/etc/crictl.yaml", text=documents.crictl_config()),
        File(path="/etc/systemd/system/kubelet.service", text=documents.KUBELET_UNIT, restarts=KUBELET),
        File(
            path=KUBELET_SETTINGS,
            text=documents.kubelet_settings(node),
            mode=0o600,
            restarts=KUBELET,
        ),
    ]
    if node.control:
        files.append(File(path="/etc/kubernetes/site/kubeadm.yaml", text=documents.init_config(node), mode=0o600))
        files += [
            File(path=f"{documents.PATCHES_DIR}/{name}", text=text, mode=0o600)
            for name, text in documents.patches(node).items()
        ]
        if node.cluster.audit:
            files.append(File(path="/etc/kubernetes/site/audit.yaml", text=documents.audit_policy(), mode=0o600))
        if node.cluster.encrypt_secrets and node.encryption_key:
            files.append(
                File(
                    path="/etc/kubernetes/site/encryption.yaml",
                    text=documents.encryption_config(node.encryption_key),
                    mode=0o600,
                    secret=True,
                )
            )
    return tuple(files)


def prepare(node: Node, *, host: Host, paths: Paths, outcome: Outcome, check: bool, member: bool) -> None:
    """Write what differs, fetch what is missing, and have the services run what is there now.

    A member's kubelet that does not run by its new settings is given the old ones again.

    Raises NodeError, OSError.
    """
    containerd = Service(CONTAINERD, host=host, paths=paths, outcome=outcome, check=check)
    health = _health_port(node) if member else None  # before that, a kubelet may have nothing to run by
    kubelet = Service(KUBELET, host=host, paths=paths, outcome=outcome, check=check, health=health)
    readers = {CONTAINERD: containerd, KUBELET: kubelet}
    settings = None  # the kubelet's before, when they are replaced
    for file in wanted(node):
        reader = readers.get(file.restarts or "")
        before = _write(file, reader=reader, host=host, paths=paths, outcome=outcome, check=check)
        if file.path == KUBELET_SETTINGS:
            settings = before
    for download in node.downloads:
        reader = kubelet if download.path.endswith("/kubelet") else None
        _fetch(download, reader=reader, host=host, paths=paths, outcome=outcome, check=check)
    _plugins(host=host, paths=paths, outcome=outcome, check=check)
    containerd.converge(start=True)
    try:
        kubelet.converge(start=member)  # else kubeadm starts it
    except UnwellError:
        if settings is not None:
            host.write(paths.at(KUBELET_SETTINGS), settings.encode(), 0o600)
            host.systemctl("restart", KUBELET)
        raise


def _health_port(node: Node) -> int | None:
    """Return where the kubelet says on the host's own address that it is well; None where the site has it not."""
    port = node.cluster.kubelet.get("healthzPort", HEALTH_PORT)
    address = node.cluster.kubelet.get("healthzBindAddress", "127.0.0.1")
    here = address in {"127.0.0.1", "0.0.0.0"}  # noqa: S104  # it is compared, nothing listens there for it
    return port if isinstance(port, int) and port > 0 and here else None


def _plugins(*, host: Host, paths: Paths, outcome: Outcome, check: bool) -> None:
    """Put the OS's CNI plugins where pod networks look for them and add their own."""
    source, target = paths.at("/usr/lib/cni"), paths.at("/opt/cni/bin")
    missing = [p.name for p in sorted(source.iterdir()) if not (target / p.name).exists()] if source.is_dir() else []
    if not missing:
        return
    names = "".join(f"{name}\n" for name in missing)
    outcome.note("link the OS's CNI plugins", name="/opt/cni/bin", after=names)
    if not check:
        for name in missing:
            host.link(target / name, f"/usr/lib/cni/{name}")


def _write(
    file: File, *, reader: Service | None, host: Host, paths: Paths, outcome: Outcome, check: bool
) -> str | None:
    """Bring a file to what it is to be, and return the text that was replaced, if there was one."""
    path = paths.at(file.path)
    try:
        before, mode = path.read_text(encoding="utf-8", errors="replace"), path.stat().st_mode & 0o7777
    except (FileNotFoundError, NotADirectoryError):
        before, mode = "", -1
    if before == file.text and mode != -1:
        if mode != file.mode:
            was, will = f"mode {mode:o}\n", f"mode {file.mode:o}\n"
            outcome.note(f"chmod {file.path}", name=file.path, before=was, after=will)
            if not check:
                host.chmod(path, file.mode)
        return None
    if file.secret:
        outcome.note(f"write {file.path}", name=file.path, before="(not shown)\n", after="(not shown, different)\n")
    else:
        outcome.note(f"write {file.path}", name=file.path, before=before, after=file.text)
    mark = reader.replacing() if reader else None
    if check:
        outcome.predicted.add(path)
    else:
        host.write(path, file.text.encode(), file.mode, before=mark)
    return None if mode == -1 else before


def _fetch(
    download: Download, *, reader: Service | None, host: Host, paths: Paths, outcome: Outcome, check: bool
) -> None:
    target = paths.at(download.path)
    # An archive leaves its own digest beside what was unpacked from it: its members cannot tell which one they are of.
    stamp = _stamp(download, paths)
    found = (stamp.read_text() if stamp.exists() else None) if download.archive else host.sha256(target)
    before, after = f"sha256 {found}\n" if found else "", f"{download.url}\n"
    if not check or found:  # in check mode the file server need not be there yet
        expected = download.sha256 or host.published_digest(download.url)
        if found == expected:
            return
        after = f"sha256 {expected}\n"
    outcome.note(f"fetch {download.path}", name=download.path, before=before, after=after)
    mark = reader.replacing() if reader else None
    if not check:
        host.fetch(download, target, sha256=expected, before=mark)
        if download.archive:
            host.write(stamp, expected.encode(), 0o644)


def _stamp(download: Download, paths: Paths) -> Path:
    name = download.url.rsplit("/", 1)[-1]
    return paths.at(download.path) / f".{name}.sha256"
