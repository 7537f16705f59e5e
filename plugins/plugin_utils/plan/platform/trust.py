"""CAs that the site trusts beside its own, and the operator's own certificate of the public names."""

from __future__ import annotations

from .. import pem
from ..model import Site


def trusted_cas(site: Site) -> tuple[str, ...]:
    """Return each CA of ``hosts.trusted_cas`` in PEM, once."""
    found = [one for name in site.hosts.trusted_cas for one in pem.parse(_text(site, name)).certificates]
    return tuple(dict.fromkeys(pem.text_of([one]) for one in found))


def authority(site: Site, written: str | None) -> str | None:
    """Return the CAs, in PEM, that a server outside is held against; None: the public ones of Debian alone."""
    return written or "".join(trusted_cas(site)) or None


def certificate(site: Site) -> str:
    """Return the chain of ``edge.certificate`` in PEM, ``""`` without one."""
    return pem.text_of(pem.parse(_text(site, site.edge.certificate)).certificates) if site.edge.certificate else ""


def public_root(site: Site) -> str:
    """Return the public CA that the chain of ``edge.certificate`` ends with, in PEM; ``""`` if it is no public one."""
    found = pem.parse(_text(site, site.edge.certificate)).certificates if site.edge.certificate else ()
    root = pem.follow(found, pem.public_roots()).root if found else None
    return pem.text_of([root]) if root else ""


def _text(site: Site, name: str) -> str:
    return site.files[name].text if name in site.files else ""
