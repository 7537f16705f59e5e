"""Converge a control host's API server: its flags, and the names in its certificate."""

from __future__ import annotations

from .._base.changes import Changes
from . import certificates, documents, static_pods
from .host import NodeHost
from .spec import Node, Paths

NAME = "kube-apiserver"
# Flags removed when a feature is turned off.
OPTIONAL = {"audit-policy-file", "audit-log-path", "encryption-provider-config"}


def differing(node: Node, paths: Paths) -> dict[str, tuple[str | None, str | None]]:
    """Return the flags that differ from the site's: name -> (found, wanted)."""
    found = static_pods.flags(static_pods.container(NAME, paths))
    wanted = documents.api_server_arguments(node) | {"secure-port": str(node.cluster.api_port)}
    names = {name for name, value in wanted.items() if found.get(name) != value} | (OPTIONAL & found.keys() - wanted)
    return {name: (found.get(name), wanted.get(name)) for name in sorted(names)}


def rewrite(node: Node, host: NodeHost, changes: Changes) -> set[str]:
    """Write the site's flags into the API server's manifest; return its name if it changed.

    The host's API is down meanwhile, so callers take one host at a time. Raises GroundupError, OSError.
    """
    flags = differing(node, host.paths)
    if not flags:
        return set()
    before = "".join(f"--{name}={found}\n" for name, (found, _) in flags.items() if found is not None)
    after = "".join(f"--{name}={wanted}\n" for name, (_, wanted) in flags.items() if wanted is not None)
    manifest = static_pods.manifest(NAME, host.paths)
    if changes.add("write the API server's manifest", name=str(manifest), before=before, after=after):
        host.phase("control-plane", "apiserver", why="the API server's flags differ")
    return {NAME}


def certify(node: Node, host: NodeHost, changes: Changes) -> None:
    """Reissue the certificate when it lacks a name; the next start reads it. Raises GroundupError, OSError."""
    certificate = host.paths.pki / "apiserver.crt"
    present = certificates.names(certificate) if certificate.exists() else frozenset()
    missing = sorted({*documents.certificate_names(node), node.address} - present)
    if not missing:
        return
    listing = "".join(f"{name}\n" for name in missing)
    changes.written.add(certificate)
    if changes.add("make the API server's certificate again", name=str(certificate), after=listing):
        certificate.unlink(missing_ok=True)
        certificate.with_suffix(".key").unlink(missing_ok=True)
        host.phase("certs", "apiserver", why="the API's certificate lacks a name")
