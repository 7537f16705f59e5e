"""The admin kubeconfig of a site on the control node, and the record of the site's cluster.

The record outlives a lost kubeconfig: no other cluster is taken for the site's, and no new one is initialised.
"""

from __future__ import annotations

import base64
import hashlib
import json
import ssl
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import yaml

from ...module_utils._base.files import write_file
from ...module_utils._base.tls import client_context
from ..errors import GroundupError
from ..paths import state_dir
from ..record import read_record

ENOUGH = timedelta(days=30)  # remaining validity at which a control host renews its own


@dataclass(frozen=True, slots=True, kw_only=True)
class Kubeconfig:
    """A parsed kubeconfig with one cluster and one user."""

    server: str  # https URL
    ca: str  # PEM
    certificate: str = ""  # PEM
    key: str = field(default="", repr=False)
    token: str = field(default="", repr=False)

    @property
    def ca_fingerprint(self) -> str:
        """Return the SHA-256 of the CA certificate: the cluster's identity."""
        return hashlib.sha256(ssl.PEM_cert_to_DER_cert(self.ca)).hexdigest()

    def tls(self) -> ssl.SSLContext:
        """Return the TLS context of a connection. Raises ssl.SSLError when the key does not match the certificate."""
        return client_context(ca=self.ca, certificate=self.certificate, key=self.key)


def parse(text: str) -> Kubeconfig:
    """Parse the ``text`` of a kubeconfig. Raises ValueError, without any of the text in it."""
    try:
        said = yaml.safe_load(text)
        cluster, user = said["clusters"][0]["cluster"], said["users"][0]["user"]
        ca, certificate, key = (
            base64.b64decode(entry.get(name, ""), validate=True).decode("ascii")
            for entry, name in (
                (cluster, "certificate-authority-data"),
                (user, "client-certificate-data"),
                (user, "client-key-data"),
            )
        )
        found = Kubeconfig(
            server=str(cluster["server"]), ca=ca, certificate=certificate, key=key, token=str(user.get("token", ""))
        )
        found.ca_fingerprint  # noqa: B018  # no PEM is a ValueError
    except (yaml.YAMLError, LookupError, TypeError, AttributeError, ValueError):
        raise ValueError("it does not name a cluster, its CA and a user") from None
    return found


def kubeconfig_path(site: str) -> Path:
    """Return the path of the admin kubeconfig of ``site`` on the control node."""
    return state_dir(site) / "kubeconfig"


def record_path(site: str) -> Path:
    """Return the path of the control node's record of the cluster of ``site``."""
    return state_dir(site) / "cluster.json"


def known_ca(site: str) -> str | None:
    """Return the SHA-256 of the CA of the cluster of ``site``, None before there is one.

    Raises GroundupError when record or kubeconfig is damaged, or they name different clusters.
    """
    kept, record = load(site), _record(site)
    if record is None:
        return kept.ca_fingerprint if kept else None
    recorded = str(record["ca"])
    if kept and kept.ca_fingerprint != recorded:
        remedy = "; if the record is right, move the kubeconfig away: the next run has a control host's"
        raise _other(site, kept.ca_fingerprint, recorded, where=str(kubeconfig_path(site)), more=remedy)
    return recorded


def known_nodes(site: str) -> frozenset[str]:
    """Return the nodes that the last run recorded for the cluster of ``site``. Raises GroundupError."""
    return frozenset((_record(site) or {}).get("nodes", ()))


def keep_nodes(site: str, names: Iterable[str]) -> None:
    """Record the nodes of the cluster of ``site``, so that they are known before the API or a host answers."""
    record, nodes = _record(site), sorted(names)
    if record is not None and frozenset(record.get("nodes", ())) != frozenset(nodes):
        write_file(record_path(site), (json.dumps({**record, "nodes": nodes}) + "\n").encode(), mode=0o644)


def _record(site: str) -> dict[str, Any] | None:
    """Return the control node's record of the cluster, None before there is one. Raises GroundupError."""
    return read_record(
        record_path(site), lambda content: {"ca": content["ca"], **content},
        what=f"the record of the cluster of site {site}",
        why="without it the control node cannot tell this cluster from another",
        remedy="restore it from a backup, or move it away: it is written again from the kubeconfig",
    )  # fmt: skip


def keep(site: str, content: str, *, host: str = "") -> bool:
    """Write the kubeconfig of ``site`` (mode 0600) unless the present one serves; return whether it was written.

    The first one creates the record. Raises GroundupError when it is of another cluster; ``host``: its origin.
    """
    path, ca = kubeconfig_path(site), check_cluster(site, content, host=host)
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    if ca and not record_path(site).exists():
        record = {"ca": ca, "since": datetime.now(UTC).isoformat(timespec="seconds")}
        write_file(record_path(site), (json.dumps(record) + "\n").encode(), mode=0o644)
    if not differs(site, content) and path.stat().st_mode & 0o777 == 0o600:
        return False
    write_file(path, content.encode(), mode=0o600)
    return True


def check_cluster(site: str, content: str, *, host: str) -> str | None:
    """Return the CA of a kubeconfig's cluster, None without one. Raises GroundupError when it is not the site's."""
    try:
        ca = parse(content).ca_fingerprint
    except ValueError:
        return None
    known = known_ca(site)
    if known and ca != known:
        raise _other(site, ca, known, where=f"host {host}, /etc/kubernetes/admin.conf")
    return ca


def _other(site: str, found: str, known: str, *, where: str, more: str = "") -> GroundupError:
    return GroundupError(
        f"this kubeconfig is of the cluster with the CA {found[:16]}..., that of site {site} has {known[:16]}...",
        where=f"{where}; recorded in {record_path(site)}",
        why="the run would go on in another cluster, and leave the site's to itself",
        remedy="correct the addresses in the site file, or restore the state directory that belongs to this cluster"
        + more,
    )


def differs(site: str, content: str) -> bool:
    """Return whether :func:`keep` would write other content."""
    try:
        kept = kubeconfig_path(site).read_text(encoding="utf-8")
    except FileNotFoundError:
        return True
    return kept != content and not _as_good(kept, content)


def _as_good(kept: str, content: str) -> bool:
    """Return whether ``kept`` gives the same access as ``content``: every control host has its own certificate."""
    from cryptography import x509  # late: only this question needs it

    try:
        ours, given = parse(kept), parse(content)
        ours.tls()
        ends = x509.load_pem_x509_certificate(ours.certificate.encode()).not_valid_after_utc
    except (ValueError, ssl.SSLError):
        return False
    same = (ours.server, ours.ca_fingerprint) == (given.server, given.ca_fingerprint)
    return same and ends - datetime.now(UTC) >= ENOUGH


def load(site: str) -> Kubeconfig | None:
    """Return the kubeconfig of ``site``, None before there is a cluster. Raises GroundupError when it is damaged."""
    path = kubeconfig_path(site)
    return read(path, of=f"site {site}") if path.is_file() else None


def read(path: Path, *, of: str = "the site") -> Kubeconfig:
    """Read the kubeconfig at ``path``. Raises GroundupError when it is missing or damaged."""
    try:
        return parse(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise GroundupError(
            f"{of} has no cluster yet: there is no admin kubeconfig",
            where=str(path),
            why="it says where the cluster is and who we are",
            remedy="run the playbook groundup.cloud.kubernetes first",
        ) from error
    except ValueError as error:
        raise GroundupError(
            f"the admin kubeconfig of {of} is damaged: {error}",
            where=str(path),
            why="without it the control node cannot tell this cluster from another",
            remedy="move it away and run the playbook groundup.cloud.kubernetes: a control host gives a new one",
        ) from error
