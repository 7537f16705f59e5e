"""Keeping a node a node, without taking anything of it away: kubeconfigs, certificates, what init left undone."""

from __future__ import annotations

from . import api_server, renewal
from .access import admin
from .api import ApiError
from .errors import NodeError
from .host import Host
from .outcome import Outcome
from .phases import run_phase
from .spec import JOIN_FILE, Node, Paths

KUBECONFIGS = ("admin.conf", "controller-manager.conf", "scheduler.conf")


def maintain(node: Node, *, host: Host, paths: Paths, outcome: Outcome, check: bool) -> None:
    """Converge a node that is a member. Raises NodeError, OSError."""
    leftovers = [p for p in (paths.kubernetes / "bootstrap-kubelet.conf", paths.site / JOIN_FILE) if p.exists()]
    if leftovers:
        outcome.note("remove the bootstrap credential a killed join left")
    for leftover in leftovers if not check else ():
        host.remove(leftover)
    if node.control:
        _kubeconfigs(host=host, paths=paths, outcome=outcome, check=check)
        api_server.certify(node, host=host, paths=paths, outcome=outcome, check=check)
    outcome.certificates = renewal.remaining(paths)


def _kubeconfigs(*, host: Host, paths: Paths, outcome: Outcome, check: bool) -> None:
    for name in KUBECONFIGS:
        if not (paths.kubernetes / name).exists():
            outcome.note(f"make {name} again")
            if not check:
                phase = name.removesuffix(".conf")
                run_phase("kubeconfig", phase, host=host, paths=paths, why=f"{name} is missing on a control host")


def add_ons(node: Node, *, host: Host, paths: Paths, outcome: Outcome, check: bool) -> None:
    """Apply CoreDNS and kube-proxy when they are missing: kubeadm's last phase, which a killed run may never reach.

    Raises NodeError: also when the host's API server does not answer.
    """
    server = f"https://{node.address}:{node.cluster.api_port}"
    base = "/apis/apps/v1/namespaces/kube-system"
    try:
        with admin(paths, server=server, host=node.name) as api:
            missing = [
                name
                for name, path in (("coredns", "deployments/coredns"), ("kube-proxy", "daemonsets/kube-proxy"))
                if api.get(f"{base}/{path}") is None
            ]
    except ApiError as error:
        raise NodeError(
            f"the API server of {node.name} does not answer as it should: {error}",
            where=f"host {node.name}, {server}",
            why="what the cluster lacks cannot be seen without it",
            remedy="see crictl ps -a and journalctl -u kubelet on the host",
        ) from error
    for name in missing:
        outcome.note(f"apply the add-on {name}")
        if not check:
            run_phase("addon", name, host=host, paths=paths, why=f"{name} is missing from the cluster")
