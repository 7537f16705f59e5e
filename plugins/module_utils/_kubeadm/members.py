"""Keeping a node a node: its API server's settings, kubeconfigs and what init left undone."""

from __future__ import annotations

import re

from . import certificates, documents, renewal
from .access import admin
from .api import ApiError
from .errors import NodeError
from .host import Host
from .outcome import Outcome
from .spec import Node, Paths

FLAG = re.compile(r"^\s+- --([a-z0-9-]+)=(.*)$", re.MULTILINE)
IMAGE_TAG = re.compile(r"^\s+image:\s*\S+:(v[^\s@]+)(?:@\S+)?\s*$", re.MULTILINE)
PHASE_TIMEOUT = 180.0  # seconds
KUBECONFIGS = ("admin.conf", "controller-manager.conf", "scheduler.conf")


def maintain(node: Node, *, host: Host, paths: Paths, outcome: Outcome, check: bool) -> None:
    """Converge a node that is a member. Raises NodeError, OSError."""
    leftover = paths.kubernetes / "bootstrap-kubelet.conf"
    if leftover.exists():
        outcome.note("remove the bootstrap credential a killed join left")
        if not check:
            host.remove(leftover)
    if node.control:
        _kubeconfigs(host=host, paths=paths, outcome=outcome, check=check)
        _api_server(node, host=host, paths=paths, outcome=outcome, check=check)
        if node.initialise:
            _addons(node, host=host, paths=paths, outcome=outcome, check=check)
    outcome.certificates = renewal.remaining(paths)


def manifest_flags(text: str) -> dict[str, str]:
    """Return the flags a static pod's manifest starts its program with."""
    return {name: value.strip("\"'") for name, value in FLAG.findall(text)}


def _phase(*arguments: str, host: Host, paths: Paths, why: str) -> None:
    host.run(["kubeadm", "init", "phase", *arguments, "--config", str(paths.init_file)], timeout=PHASE_TIMEOUT, why=why)


def _kubeconfigs(*, host: Host, paths: Paths, outcome: Outcome, check: bool) -> None:
    for name in KUBECONFIGS:
        if not (paths.kubernetes / name).exists():
            outcome.note(f"make {name} again")
            if not check:
                phase = name.removesuffix(".conf")
                _phase("kubeconfig", phase, host=host, paths=paths, why=f"{name} is missing on a control host")


def _api_server(node: Node, *, host: Host, paths: Paths, outcome: Outcome, check: bool) -> None:
    """Remake the API server's manifest when its flags are not the site's, its certificate when its names are not."""
    manifest = paths.kubernetes / "manifests" / "kube-apiserver.yaml"
    text = manifest.read_text(encoding="utf-8") if manifest.exists() else ""
    _refuse_upgrade(node, text)
    flags = manifest_flags(text)
    desired = documents.api_server_arguments(node) | {"secure-port": str(node.cluster.api_port)}
    ours = {"audit-policy-file", "audit-log-path", "encryption-provider-config"}  # gone when the site turns them off
    differing = {k for k, v in desired.items() if flags.get(k) != v} | (ours & flags.keys() - desired.keys())
    if differing:
        before = "".join(f"--{k}={flags[k]}\n" for k in sorted(differing) if k in flags)
        after = "".join(f"--{k}={desired[k]}\n" for k in sorted(differing) if k in desired)
        outcome.note("write the API server's manifest", name=str(manifest), before=before, after=after)
        if not check:
            _phase("control-plane", "apiserver", host=host, paths=paths, why="the API server's flags differ")
    certificate = paths.pki / "apiserver.crt"
    present = certificates.names(certificates.decode(certificate)) if certificate.exists() else frozenset()
    missing = sorted({*documents.certificate_names(node), node.address} - present)
    if missing:
        listing = "".join(f"{name}\n" for name in missing)
        outcome.note("make the API server's certificate again", name=str(certificate), after=listing)
        if check:
            outcome.predicted.add(certificate)
        else:
            host.remove(certificate)
            host.remove(certificate.with_suffix(".key"))
            _phase("certs", "apiserver", host=host, paths=paths, why="the API's certificate lacks a name")


def _refuse_upgrade(node: Node, manifest: str) -> None:
    found = IMAGE_TAG.search(manifest)
    if found and found.group(1) != f"v{node.cluster.version}":
        raise NodeError(
            f"{node.name} runs Kubernetes {found.group(1)}, the site file says v{node.cluster.version}",
            where=f"host {node.name}, site file key kubernetes.version",
            why="an upgrade goes host by host, with an etcd snapshot before it; it is not a side effect of a re-run",
            remedy=f"set kubernetes.version to {found.group(1).removeprefix('v')}, or upgrade with kubeadm upgrade",
        )


def _addons(node: Node, *, host: Host, paths: Paths, outcome: Outcome, check: bool) -> None:
    """Apply CoreDNS and kube-proxy when they are missing: kubeadm's last phase, which a killed run may never reach."""
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
            _phase("addon", name, host=host, paths=paths, why=f"{name} is missing from the cluster")
