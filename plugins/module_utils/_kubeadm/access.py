"""What a control host hands out: the admin kubeconfig, and invitations to join."""

from __future__ import annotations

import json
import re
import secrets
import time
from dataclasses import dataclass

from . import certificates, documents
from .api import Api, ApiError
from .errors import NodeError
from .host import Host
from .kubeconfig import parse
from .spec import Paths

SIGNATURE_WAIT = 60.0  # seconds
LIFE = "20m"  # long enough for the joins of one run, no longer
SERVER_LINE = re.compile(r"^(\s*server:\s*)\S+\s*$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Invitation:
    """What a host needs to join. Holds secrets."""

    token: str
    ca_hash: str
    certificate_key: str | None


def kubeconfig(paths: Paths, *, server: str, host: str, may_miss: bool) -> str | None:
    """Return the admin kubeconfig with ``server`` (an https URL) in it.

    None only with ``may_miss``, on a host that has none; else NodeError.
    """
    path = paths.kubernetes / "admin.conf"
    if path.exists():
        return SERVER_LINE.sub(rf"\g<1>{server}", path.read_text(encoding="utf-8"))
    if may_miss:
        return None
    raise NodeError(
        f"{host} has no admin kubeconfig",
        where=f"host {host}, {path}",
        why="it is the control host that hands out access to the cluster",
        remedy="run the playbook groundup.cloud.kubernetes on the control hosts first",
    )


def admin(paths: Paths, *, server: str, host: str) -> Api:
    """Return a connection to the host's own API server with the rights of its admin kubeconfig. Raises NodeError."""
    path = paths.kubernetes / "admin.conf"
    try:
        return parse(path.read_text(encoding="utf-8")).connect(server=server)
    except (OSError, ValueError) as error:
        raise NodeError(
            f"the admin kubeconfig of {host} cannot be used: {error}",
            where=f"host {host}, {path}",
            why="the cluster is asked with it",
            remedy="remove it and run this again: it is made anew from the cluster's CA",
        ) from error


def invite(*, host: Host, paths: Paths, server: str, control: bool) -> Invitation:
    """Make a bootstrap token that works, and for control hosts put the certificates into the cluster.

    Args:
        host: the edge to the control host.
        paths: where things are.
        server: https URL of this host's own API server.
        control: whether control-plane nodes are invited too.

    Raises:
        NodeError: kubeadm failed, or the token was not signed in a minute.
        OSError: the host's files cannot be read.
    """
    authority = certificates.first_certificate((paths.pki / "ca.crt").read_text(encoding="utf-8"))
    if authority is None:
        raise NodeError(
            "the cluster's CA certificate is damaged",
            where=f"host {host.name}, {paths.pki}/ca.crt",
            why="who joins must be able to tell this cluster from another",
            remedy="restore it from another control host; all of them have the same one",
        )
    command = ["kubeadm", "token", "create", "--ttl", LIFE, "--description", "joins of one run of groundup.cloud"]
    token = host.run(command, timeout=60, why="hosts that join prove themselves with a token").strip()
    _wait_until_signed(token.partition(".")[0], host=host, paths=paths, server=server)
    key = _upload_certificates(host=host, paths=paths) if control else None
    return Invitation(token=token, ca_hash=certificates.public_key_hash(authority), certificate_key=key)


def _wait_until_signed(token_id: str, *, host: Host, paths: Paths, server: str) -> None:
    """Wait for the token's signature in cluster-info: a join that comes earlier does not trust what it reads there."""
    until = time.monotonic() + SIGNATURE_WAIT
    last = "no signature yet"
    with admin(paths, server=server, host=host.name) as api:
        while time.monotonic() < until:
            try:
                found = api.get("/api/v1/namespaces/kube-public/configmaps/cluster-info") or {}
                if f"jws-kubeconfig-{token_id}" in found.get("data", {}):
                    return
            except ApiError as error:
                last = str(error)
            time.sleep(0.2)
    raise NodeError(
        f"the bootstrap token was not signed in {SIGNATURE_WAIT:.0f} s: {last}",
        where=f"host {host.name}, ConfigMap kube-public/cluster-info",
        why="hosts that join check that signature; kube-controller-manager (bootstrapsigner) writes it",
        remedy="see crictl logs of kube-controller-manager on the host",
    )


def _upload_certificates(*, host: Host, paths: Paths) -> str:
    """Put the control plane's certificates into the cluster, encrypted, for two hours; return their key."""
    key = secrets.token_hex(32)
    config = paths.site / "upload.yaml"
    # The init configuration says where this host's own API server listens; kubeadm would guess the usual port.
    init, *others = paths.init_file.read_text(encoding="utf-8").split("---\n")
    text = "---\n".join([documents.to_text(json.loads(init) | {"certificateKey": key}), *others])
    host.write(config, text.encode(), 0o600)
    try:
        host.run(
            ["kubeadm", "init", "phase", "upload-certs", "--upload-certs", "--config", str(config)],
            timeout=60,
            why="a joining control host takes the cluster's certificates from there",
        )
    finally:
        host.remove(config)
    return key
