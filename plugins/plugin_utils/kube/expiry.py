"""Find certificates of a site that expire soon: on its control hosts, of the edge, and the site's CA."""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from datetime import UTC, datetime

from ..errors import GroundupError
from ..paths import state_dir

EDGE, CA = "certificate of the edge", "the site's CA"
PATIENCE = 10.0  # seconds
# How certificates outside the control plane are renewed; `_CONTROL_PLANE` is the default.
_RENEWAL = {
    EDGE: "any run of groundup.cloud.site or host and kubernetes renews it below 90 days",
    CA: "any run of groundup.cloud.site or host renews it, two years before its end",
}
_CONTROL_PLANE = "see systemctl status groundup-certificates on the host, or run the playbook groundup.cloud.kubernetes"
_KUBELET = "its kubelet renews it: see journalctl -u kubelet on the host"
_AUTHORITY = "no run renews it: plan the rotation of the cluster's CA"


def days_of_site(site: str, *, edge: str | None) -> dict[str, int]:
    """Return the days left of the site's CA and of the certificate at ``edge``, without unreadable ones."""
    from cryptography import x509  # late: only this question needs it

    found = {}
    texts = {CA: _read(site), EDGE: _served(edge) if edge else ""}
    for name, text in texts.items():
        if text:
            end = x509.load_pem_x509_certificate(text.encode()).not_valid_after_utc
            found[name] = (end - datetime.now(UTC)).days
    return found


def soon(
    hosts: Mapping[str, Mapping[str, int]], site: Mapping[str, int], *, warn_below: int, fail_below: int
) -> tuple[str, ...]:
    """Return a warning for each certificate with fewer than ``warn_below`` days left; ``hosts``: days by host and file.

    Raises GroundupError for one with fewer than ``fail_below``.
    """
    everything = {
        f"{file} of {host}": (file, days) for host, files in sorted(hosts.items()) for file, days in files.items()
    }
    everything |= {name: (name, days) for name, days in site.items()}
    lines = []
    for name, (kind, days) in sorted(everything.items(), key=lambda item: item[1][1]):
        ends = f"{name} ended {-days} days ago" if days < 0 else f"{name} ends in {days} days"
        if days < fail_below:
            raise GroundupError(ends, where=name, why="what it secures stops with it", remedy=renewal(kind))
        if days < warn_below:
            lines.append(f"{ends}: {renewal(kind)}")
    return tuple(lines)


def renewal(kind: str) -> str:
    """Return what renews a certificate: a file of a control host, `EDGE` or `CA`."""
    if kind.startswith("kubelet-client"):
        return _KUBELET
    if kind.removesuffix(".crt").rpartition("/")[2] in {"ca", "front-proxy-ca"}:
        return _AUTHORITY
    return _RENEWAL.get(kind, _CONTROL_PLANE)


def _read(site: str) -> str:
    path = state_dir(site) / "ca.crt"
    return path.read_text(encoding="utf-8") if path.is_file() else ""


def _served(address: str) -> str:
    try:
        return ssl.get_server_certificate((address, 443), timeout=PATIENCE)
    except OSError:
        return ""
