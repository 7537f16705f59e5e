"""Renew a control host's certificates before they expire, and restart the programs that read files only at start.

The host's etcd and API are down meanwhile, so callers take one host at a time.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path

from .._base.changes import Changes
from .._base.errors import GroundupError
from .._base.wait import wait_until
from . import certificates, static_pods
from .host import NodeHost
from .rolling_restart import unready
from .spec import ApiHost, Paths

RENEW_BELOW = 30  # days; kubeadm's certificates live for 365
TIMEOUT = 180.0  # seconds
WAIT = 180.0  # seconds: etcd, then the API that needs it
# The files that each static pod reads at its start, below /etc/kubernetes.
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
    """Return the days left of each certificate of the host, by file name. Raises GroundupError."""
    found = [*sorted(paths.pki.rglob("*.crt")), paths.kubelet / "pki" / "kubelet-client-current.pem"]
    return {_name(path): certificates.days_left(path) for path in found if path.exists()}


def ending(left: Mapping[str, int]) -> dict[str, int]:
    """Return the certificates that expire within 30 days and that kubeadm renews.

    CAs are excluded: they live for ten years, and their renewal concerns every node. The kubelet renews its own.
    """
    others = {"ca", "front-proxy-ca"}
    return {
        name: days
        for name, days in left.items()
        if days < RENEW_BELOW and name.endswith(".crt") and Path(name).stem not in others
    }


def due(host: NodeHost, left: Mapping[str, int], *, since: float) -> dict[str, int]:
    """Return the certificates to renew: those that expire soon, or were written before ``since``."""
    ours = {name for name in left if name.endswith(".crt") and Path(name).stem not in {"ca", "front-proxy-ca"}}
    old = {name for name in ours if (host.paths.pki / name).stat().st_mtime < since}
    return ending(left) | {name: left[name] for name in sorted(old)}


def left_to_others(left: Mapping[str, int], *, host: str) -> list[str]:
    """Return a warning for each certificate that expires soon and that `renew` does not renew."""
    ours = ending(left)
    return [
        f"{name} of {host} ends in {days} days"
        for name, days in left.items()
        if days < RENEW_BELOW and name not in ours
    ]


def behind(host: NodeHost, changes: Changes) -> list[str]:
    """Return the static pods older than a file they read, changed by this run or by a killed one.

    In check mode, files that would be written count as newer than all pods.
    """
    found = []
    predicted = changes.written if changes.check else ()
    for one in static_pods.running(host):
        patterns = READS[component := one["name"]]
        made = [path.stat().st_mtime_ns for pattern in patterns for path in host.paths.kubernetes.glob(pattern)]
        will = any(path.match(pattern) for path in predicted for pattern in patterns)
        if will or max(made, default=0) > int(one["createdAt"]):
            found.append(component)
    return found


def renew(
    node: ApiHost,
    host: NodeHost,
    changes: Changes,
    *,
    left: Mapping[str, int],
    anew: Collection[str],
    since: float = 0,
) -> None:
    """Renew certificates when one is `due`, and restart pods older than their files. Raises GroundupError.

    ``left``: the days left of each certificate. ``anew``: static pods that were already restarted.
    """
    found = due(host, left, since=since)
    late = [name for name in behind(host, changes) if name not in anew]
    if found:
        listing = "".join(f"{name}: {days} days left\n" for name, days in found.items())
        changes.add("renew the control plane's certificates", name="certificates", before=listing, after="365 days\n")
    elif late:
        listing = "".join(f"{name}: older than what it reads\n" for name in late)
        line = f"restart {', '.join(late)}, with the files that are there now"
        changes.add(line, name="static pods", before=listing)
    if changes.check or not (found or late):
        return
    if found:
        host.run(
            ["kubeadm", "certs", "renew", "all", "--config", str(host.paths.init_file)],
            timeout=TIMEOUT,
            why="certificates that end take the API with them",
        )
    restart(*behind(host, changes), node=node, host=host)


def restart(*components: str, node: ApiHost, host: NodeHost) -> None:
    """Restart static pods, so that they read their files, and wait for the API. Raises GroundupError."""
    static_pods.end(host, components)
    if reason := wait_until(lambda: unready(host, node.api_server), timeout=WAIT):
        raise GroundupError(
            f"the API of {node.name} is not ready {WAIT:.0f} s after {', '.join(components)} restarted: {reason}",
            where=f"host {node.name}, {node.api_server}/readyz",
            why="no other control host is touched before this one works",
            remedy="see crictl ps -a and journalctl -u kubelet on the host",
        )


def _name(path: Path) -> str:
    return f"etcd/{path.name}" if path.parent.name == "etcd" else path.name
