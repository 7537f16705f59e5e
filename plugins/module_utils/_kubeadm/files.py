"""The files and services a host needs before it can be a node, and keeps while it is one."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from . import documents
from .host import Host
from .outcome import Outcome
from .spec import Download, Node, Paths

CONTAINERD = "containerd.service"
KUBELET = "kubelet.service"


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
            path="/etc/kubernetes/kubelet.conf.d/10-site.conf",
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

    Raises NodeError, OSError.
    """
    restart: set[str] = set()
    unit_changed = False
    for file in wanted(node):
        if _write(file, host=host, paths=paths, outcome=outcome, check=check):
            unit_changed |= file.path.startswith("/etc/systemd/")
            if file.restarts:
                restart.add(file.restarts)
    for download in node.downloads:
        fetched = _fetch(download, host=host, paths=paths, outcome=outcome, check=check)
        if fetched and download.path.endswith("/kubelet"):
            restart.add(KUBELET)
    _plugins(host=host, paths=paths, outcome=outcome, check=check)
    if unit_changed and not check:
        host.systemctl("daemon-reload")
    _serve(CONTAINERD, host=host, outcome=outcome, check=check, restart=CONTAINERD in restart)
    if member:
        _serve(KUBELET, host=host, outcome=outcome, check=check, restart=KUBELET in restart)
    elif not host.enabled(KUBELET):
        outcome.note(f"enable {KUBELET}")
        if not check:
            host.systemctl("enable", KUBELET)


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


def _write(file: File, *, host: Host, paths: Paths, outcome: Outcome, check: bool) -> bool:
    path = paths.at(file.path)
    try:
        before, mode = path.read_text(encoding="utf-8", errors="replace"), path.stat().st_mode & 0o7777
    except (FileNotFoundError, NotADirectoryError):
        before, mode = "", -1
    if before == file.text and mode == file.mode:
        return False
    if before == file.text:
        outcome.note(f"chmod {file.path}", name=file.path, before=f"mode {mode:o}\n", after=f"mode {file.mode:o}\n")
    elif file.secret:
        outcome.note(f"write {file.path}", name=file.path, before="(not shown)\n", after="(not shown, different)\n")
    else:
        outcome.note(f"write {file.path}", name=file.path, before=before, after=file.text)
    if not check:
        host.write(path, file.text.encode(), file.mode)
    return before != file.text


def _fetch(download: Download, *, host: Host, paths: Paths, outcome: Outcome, check: bool) -> bool:
    target = paths.at(download.path)
    # An archive leaves its own digest beside what was unpacked from it: its members cannot tell which one they are of.
    stamp = _stamp(download, paths)
    found = (stamp.read_text() if stamp.exists() else None) if download.archive else host.sha256(target)
    if check and found is None:  # the file server need not be there yet
        outcome.note(f"fetch {download.path}", name=download.path, after=f"{download.url}\n")
        return True
    expected = download.sha256 or host.published_digest(download.url)
    if found == expected:
        return False
    before = f"sha256 {found}\n" if found else ""
    outcome.note(f"fetch {download.path}", name=download.path, before=before, after=f"sha256 {expected}\n")
    if not check:
        host.fetch(download, target, sha256=expected)
        if download.archive:
            host.write(stamp, expected.encode(), 0o644)
    return True


def _stamp(download: Download, paths: Paths) -> Path:
    name = download.url.rsplit("/", 1)[-1]
    return paths.at(download.path) / f".{name}.sha256"


def _serve(unit: str, *, host: Host, outcome: Outcome, check: bool, restart: bool) -> None:
    """Have ``unit`` start at boot and run now, with the configuration that is there now."""
    if not host.enabled(unit):
        outcome.note(f"enable {unit}")
        if not check:
            host.systemctl("enable", unit)
    if not host.active(unit):
        outcome.note(f"start {unit}")
        if not check:
            host.systemctl("restart", unit)
    elif restart:
        outcome.note(f"restart {unit}")
        if not check:
            host.systemctl("restart", unit)
