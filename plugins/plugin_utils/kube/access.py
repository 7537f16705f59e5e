"""The admin kubeconfig of a site on the controller."""

from __future__ import annotations

import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509

from ...module_utils._base.files import write_file
from ...module_utils._kubeadm.kubeconfig import Access, parse
from ..errors import GroundupError
from ..paths import state_dir

__all__ = ["Access", "differs", "keep", "kubeconfig_path", "load"]

ENOUGH = timedelta(days=30)  # a control host renews its own at that time


def kubeconfig_path(site: str) -> Path:
    """Return where the admin kubeconfig of ``site`` is on the controller."""
    return state_dir(site) / "kubeconfig"


def keep(site: str, content: str) -> bool:
    """Write the kubeconfig of ``site`` (mode 0600) unless the one kept serves; return whether it did."""
    path = kubeconfig_path(site)
    if not differs(site, content) and path.stat().st_mode & 0o777 == 0o600:
        return False
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    write_file(path, content.encode(), mode=0o600)
    return True


def differs(site: str, content: str) -> bool:
    """Say whether :func:`keep` would write other content."""
    try:
        kept = kubeconfig_path(site).read_text(encoding="utf-8")
    except FileNotFoundError:
        return True
    return kept != content and not _as_good(kept, content)


def _as_good(kept: str, content: str) -> bool:
    """Say whether ``kept`` gives the same access as ``content``: every control host has a certificate of its own."""
    try:
        ours, given = parse(kept), parse(content)
        ours.connect()  # takes certificate and key, and speaks to nobody yet
        ends = x509.load_pem_x509_certificate(ours.certificate.encode()).not_valid_after_utc
    except (ValueError, ssl.SSLError):
        return False
    same = (ours.server, ours.ca_fingerprint) == (given.server, given.ca_fingerprint)
    return same and ends - datetime.now(UTC) >= ENOUGH


def load(site: str) -> Access | None:
    """Return the access to the cluster of ``site``, None before there is a cluster.

    Raises:
        GroundupError: the kubeconfig is damaged.
    """
    path = kubeconfig_path(site)
    try:
        return parse(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except ValueError as error:
        raise GroundupError(
            f"the admin kubeconfig of site {site} is damaged: {error}",
            where=str(path),
            why="without it the controller cannot tell this cluster from another",
            remedy="move it away and run the playbook groundup.cloud.kubernetes: a control host gives a new one",
        ) from error
