"""Certificates of a control host before they end, and the programs that read these and other files only at start.

etcd and the API of the host are away meanwhile, so callers take one host at a time.
"""

from __future__ import annotations

import json
import ssl
import time
from collections.abc import Collection
from pathlib import Path
from typing import Any

from . import certificates
from .errors import NodeError
from .host import Host
from .outcome import Outcome
from .spec import Node, Paths
from .turn import unready

RENEW_BELOW = 30  # days; kubeadm's certificates live for 365
TIMEOUT = 180.0  # seconds
WAIT = 180.0  # seconds: etcd, then the API over it
# What each static pod reads when it starts, below kubeadm's directory.
READS = {
    "etcd": ("pki/etcd/server.crt", "pki/etcd/peer.crt"),
    "kube-apiserver": (
        *("pki/apiserver*.crt", "pki/front-proxy-client.crt"),
        *("site/audit.yaml", "site/encryption.yaml"),
    ),
    "kube-controller-manager": ("controller-manager.conf",),
    "kube-scheduler": ("scheduler.conf",),
}


def remaining(paths: Paths) -> dict[str, int]:
    """Return the days each of the host's certificates has left, by file name. Raises NodeError."""
    files = [*sorted(paths.pki.rglob("*.crt")), paths.kubelet / "pki" / "kubelet-client-current.pem"]
    return _days(files)


def ending(paths: Paths) -> dict[str, int]:
    """Return the days left of those certificates that end within 30 days, by file name. Raises NodeError.

    CAs are not among them: their end is ten years away and concerns every node.
    """
    leaves = [path for path in sorted(paths.pki.rglob("*.crt")) if path.stem not in {"ca", "front-proxy-ca"}]
    return {name: days for name, days in _days(leaves).items() if days < RENEW_BELOW}


def behind(*, host: Host, paths: Paths, predicted: Collection[Path] = ()) -> list[str]:
    """Return the static pods that started before what they read was made: changed now, or by a run that was killed.

    In check mode ``predicted`` files count as made after all of them.
    """
    found = []
    for pod in _pods(host):
        patterns = READS.get(component := pod["labels"].get("component", ""), ())
        made = [path.stat().st_mtime_ns for pattern in patterns for path in paths.kubernetes.glob(pattern)]
        will = any(path.match(pattern) for path in predicted for pattern in patterns)
        if will or max(made, default=0) > int(pod["createdAt"]):
            found.append(component)
    return found


def due(*, host: Host, paths: Paths, predicted: Collection[Path] = ()) -> list[str]:
    """Return what :func:`renew` would see to. Raises NodeError."""
    return [*ending(paths), *behind(host=host, paths=paths, predicted=predicted)]


def renew(node: Node, *, host: Host, paths: Paths, outcome: Outcome, check: bool, anew: Collection[str] = ()) -> None:
    """Renew certificates when one ends soon, and start again what has not read its files. Raises NodeError.

    ``anew`` are static pods that start again in this turn for another reason.
    """
    found = ending(paths)
    late = [name for name in behind(host=host, paths=paths, predicted=outcome.predicted) if name not in anew]
    if found:
        listing = "".join(f"{name}: {days} days left\n" for name, days in found.items())
        outcome.note("renew the control plane's certificates", name="certificates", before=listing, after="365 days\n")
    elif late:
        listing = "".join(f"{name}: older than what it reads\n" for name in late)
        outcome.note(
            f"start {', '.join(late)} again, with the files that are there now", name="static pods", before=listing
        )
    if check or not (found or late):
        return
    if found:
        host.run(
            ["kubeadm", "certs", "renew", "all", "--config", str(paths.init_file)],
            timeout=TIMEOUT,
            why="certificates that end take the API with them",
        )
    restart(*behind(host=host, paths=paths), node=node, host=host, paths=paths)


def restart(*components: str, node: Node, host: Host, paths: Paths) -> None:
    """Have the kubelet start static pods again, to read their files, and wait for the API. Raises NodeError."""
    for pod in _pods(host):
        if (component := pod["labels"].get("component", "")) in components:
            why = f"{component} reads its files only when it starts"
            host.run(["crictl", "stopp", pod["id"]], timeout=TIMEOUT, why=why)
    until = time.monotonic() + WAIT
    server = f"https://{node.address}:{node.cluster.api_port}"
    while said := unready(server, host=host, paths=paths):
        if time.monotonic() > until:
            raise NodeError(
                f"the API of {node.name} is not ready {WAIT:.0f} s after {', '.join(components)} started again: {said}",
                where=f"host {node.name}, {server}/readyz",
                why="no other control host is touched before this one works",
                remedy="see crictl ps -a and journalctl -u kubelet on the host",
            )
        time.sleep(0.5)


def _pods(host: Host) -> list[dict[str, Any]]:
    """Return the static pods that run."""
    chosen = ["--state", "ready", "--namespace", "kube-system", "--label", "tier=control-plane"]
    text = host.run(
        ["crictl", "pods", *chosen, "--output", "json"], timeout=TIMEOUT, why="programs read files at start"
    )
    items: list[dict[str, Any]] = json.loads(text or "{}").get("items") or []
    return items


def _days(files: list[Path]) -> dict[str, int]:
    found = {}
    for path in files:
        name = path.name if path.parent.name != "etcd" else f"etcd/{path.name}"
        try:
            found[name] = certificates.days_left(certificates.decode(path))
        except FileNotFoundError:
            continue
        except (OSError, ssl.SSLError, ValueError) as error:
            raise NodeError(
                f"{path} is not a certificate: {error}",
                where=f"{path}",
                why="a node whose certificate cannot be read will not start again",
                remedy="restore it from a backup of /etc/kubernetes/pki, or remove it and run kubeadm certs renew",
            ) from error
    return found
