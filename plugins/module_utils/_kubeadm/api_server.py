"""The API server of a control host: its flags, and the names its certificate holds."""

from __future__ import annotations

from . import certificates, documents, static_pods
from .host import Host
from .outcome import Outcome
from .phases import run_phase
from .spec import Node, Paths

NAME = "kube-apiserver"
# Flags that are gone when the site turns off what they are for.
OPTIONAL = {"audit-policy-file", "audit-log-path", "encryption-provider-config"}


def differing(node: Node, paths: Paths) -> dict[str, tuple[str | None, str | None]]:
    """Return the flags that are not the site's: name -> (found, wanted)."""
    found = static_pods.flags(static_pods.read(NAME, paths))
    wanted = documents.api_server_arguments(node) | {"secure-port": str(node.cluster.api_port)}
    names = {name for name, value in wanted.items() if found.get(name) != value} | (OPTIONAL & found.keys() - wanted)
    return {name: (found.get(name), wanted.get(name)) for name in sorted(names)}


def rewrite(node: Node, *, host: Host, paths: Paths, outcome: Outcome, check: bool) -> set[str]:
    """Give the API server the site's flags; return its name when it had others. Raises NodeError, OSError.

    The API of the host is away meanwhile, so callers take one host at a time.
    """
    flags = differing(node, paths)
    if not flags:
        return set()
    before = "".join(f"--{name}={found}\n" for name, (found, _) in flags.items() if found is not None)
    after = "".join(f"--{name}={wanted}\n" for name, (_, wanted) in flags.items() if wanted is not None)
    manifest = static_pods.manifest(NAME, paths)
    outcome.note("write the API server's manifest", name=str(manifest), before=before, after=after)
    if not check:
        run_phase("control-plane", "apiserver", host=host, paths=paths, why="the API server's flags differ")
    return {NAME}


def certify(node: Node, *, host: Host, paths: Paths, outcome: Outcome, check: bool) -> None:
    """Make the certificate again when it lacks a name; it is read at the next start. Raises NodeError, OSError."""
    certificate = paths.pki / "apiserver.crt"
    present = certificates.names(certificates.decode(certificate)) if certificate.exists() else frozenset()
    missing = sorted({*documents.certificate_names(node), node.address} - present)
    if not missing:
        return
    listing = "".join(f"{name}\n" for name in missing)
    outcome.note("make the API server's certificate again", name=str(certificate), after=listing)
    if check:
        outcome.predicted.add(certificate)
    else:
        host.remove(certificate)
        host.remove(certificate.with_suffix(".key"))
        run_phase("certs", "apiserver", host=host, paths=paths, why="the API's certificate lacks a name")
