"""Maintain a cluster member without interruption: kubeconfigs, certificates, add-ons."""

from __future__ import annotations

from .._base.changes import Changes
from .._base.errors import GroundupError
from . import api_server, half_made
from .api import NodeApiError
from .host import NodeHost
from .spec import JOIN_FILE, Node

KUBECONFIGS = ("admin.conf", "controller-manager.conf", "scheduler.conf")


def maintain(node: Node, host: NodeHost, changes: Changes) -> None:
    """Converge a member. Raises GroundupError, OSError."""
    paths = host.paths
    leftovers = [p for p in (paths.kubernetes / "bootstrap-kubelet.conf", paths.site / JOIN_FILE) if p.exists()]
    if leftovers and changes.add("remove the bootstrap credential a killed join left"):
        for leftover in leftovers:
            leftover.unlink()
    if half_made.begun(paths) and changes.add("remove the mark a killed init or join left"):
        half_made.ended(paths)
    if node.control:
        for name in KUBECONFIGS:
            if not (paths.kubernetes / name).exists() and changes.add(f"make {name} again"):
                host.phase("kubeconfig", name.removesuffix(".conf"), why=f"{name} is missing on a control host")
        api_server.certify(node, host, changes)


def add_ons(node: Node, host: NodeHost, changes: Changes) -> None:
    """Apply CoreDNS and kube-proxy when they are missing: kubeadm's last phase, which a killed run may skip.

    Raises GroundupError, also when the host's API server does not answer.
    """
    base = "/apis/apps/v1/namespaces/kube-system"
    wanted = {"coredns": f"{base}/deployments/coredns", "kube-proxy": f"{base}/daemonsets/kube-proxy"}
    try:
        with host.api(node.api_server) as api:
            missing = [name for name, path in wanted.items() if api.get(path) is None]
    except NodeApiError as error:
        raise GroundupError(
            f"the API server of {node.name} does not answer as it should: {error}",
            where=f"host {node.name}, {node.api_server}",
            why="missing add-ons are found through it",
            remedy="see crictl ps -a and journalctl -u kubelet on the host",
        ) from error
    for name in missing:
        if changes.add(f"apply the add-on {name}"):
            host.phase("addon", name, why=f"{name} is missing from the cluster")
