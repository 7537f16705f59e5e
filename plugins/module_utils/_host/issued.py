"""Report which of the site's CAs each file of this host trusts, and the certificates it shows: public parts only."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from .._base import files
from .._base.changes import Changes
from .._base.tls import certificates, end
from . import apt, trust

# Every file that a layer writes with a certificate of the site: as they are, or below a directory.
PLACES = (
    str(apt.OURS.with_name("seed-ca.crt")), "/etc/containerd/certs.d/*/ca.crt", "/etc/haproxy/tls/*.pem",
    "/etc/nginx/groundup.pem", "/etc/ironic/*.crt", "/var/lib/ceph/radosgw/*/tls.crt", "/etc/ovn/tls/*.pem",
    "/etc/groundup/hypervisor/*.pem", "/etc/pki/CA/cacert.pem", "/etc/pki/libvirt/*cert.pem", "/etc/pki/qemu/*cert.pem",
    "/etc/pki/qemu/migration/*cert.pem", "/etc/groundup/monitoring/*.crt",
    "/etc/groundup/monitoring/log-agent/*.crt", "/etc/groundup/monitoring/central/*tls/*.crt",
)  # fmt: skip


def look(changes: Changes, given: Mapping[str, Any]) -> dict[str, Any]:  # noqa: ARG001  # it only reads
    """Return, by file, the names of the ``authorities`` in it, and what else is: the certificate that it shows."""
    known = {_bare(text): name for name, text in given["authorities"].items()}
    return {"changed": False, "places": dict(_places(known, Path("/")))}


def ends(root: Path = Path("/")) -> dict[str, int]:
    """Return when the certificate of each file ends, in seconds since 1970. Raises GroundupError."""
    why, remedy = "whoever reads it fails at its next start", "run groundup.cloud.site, which writes it again"
    return {
        f"/{path.relative_to(root)}": end(path, why=why, remedy=remedy)
        for path in _found(PLACES, root)
        if certificates(files.read(path) or "")  # others are keys
    }


def _places(known: Mapping[str, str], root: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    store = _found([f"{trust.OURS}/groundup-*.crt"], root)
    yield str(trust.OURS), _of(known, store)  # its files are one certificate each
    yield str(trust.BUNDLE), {**_of(known, _found([str(trust.BUNDLE)], root)), "shows": []}  # with Debian's
    for path in _found(PLACES, root):
        yield f"/{path.relative_to(root)}", _of(known, [path])


def _found(patterns: Iterable[str], root: Path) -> list[Path]:
    return [path for one in patterns for path in sorted(root.glob(one.lstrip("/"))) if path.is_file()]


def _of(known: Mapping[str, str], paths: Iterable[Path]) -> dict[str, Any]:
    found = [one for path in paths for one in certificates(files.read(path) or "")]
    return {
        "trusts": sorted({known[_bare(one)] for one in found if _bare(one) in known}),
        "shows": [one for one in found if _bare(one) not in known],
    }


def _bare(text: str) -> str:
    return "".join(text.split())
