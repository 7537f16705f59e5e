"""CAs that are written into the site file itself, of a directory, of a provider of logins or of a proxy."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from .. import pem
from ..form import error, warning
from ..layout.context import PlanContext
from ..types import Finding

if TYPE_CHECKING:
    from cryptography import x509

_SOON = timedelta(days=30)  # of a short life: a third


def written(context: PlanContext, text: str | None, key: str) -> Iterator[Finding]:
    """Yield findings about the CAs in the PEM ``text`` of the field ``key``."""
    if not text:
        return
    found = pem.parse(text)
    if found.damaged or not found.certificates:
        yield error("ca-unreadable", key)(
            what="it is framed as a certificate, and one in it does not parse",
            why="who checks servers against it would trust none of them, or refuse to start",
            remedy="write the CA's certificate as it is, whole, from BEGIN to END",
        )
    for one in found.certificates:
        if pem.may_sign(one):
            yield from dates(one, pem.name_of(one), key, now=context.site.now, ca=True)
            continue
        yield error("ca-is-no-ca", key)(
            what=f"{pem.name_of(one)} is no CA",
            why="a server's own certificate vouches for nobody, and changes with its next renewal",
            remedy="write the certificate of the CA that signed it; `openssl s_client -showcerts` shows the chain",
        )


def dates(one: x509.Certificate, name: str, key: str, *, now: datetime | None, ca: bool) -> Iterator[Finding]:
    """Yield a finding when ``one`` is not valid ``now``, or ends soon; None: its dates are not looked at."""
    if now is None:
        return
    begin, end = one.not_valid_before_utc, one.not_valid_after_utc
    renew = "take it out, or write its successor" if ca else "replace the file, and give the new key (edge/key)"
    if now > end:
        yield error("certificate-expired", key)(
            what=f"{name} ended {(now - end).days} days ago, on {end:%Y-%m-%d}",
            why="every client refuses it",
            remedy=renew,
        )
    elif now < begin:
        yield error("certificate-not-yet-valid", key)(
            what=f"{name} is valid from {begin:%Y-%m-%d %H:%M} UTC",
            why="every client refuses it until then",
            remedy="wait, use one that is valid now, or correct this machine's clock",
        )
    elif end - now < min(_SOON, (end - begin) / 3):
        yield warning("certificate-ends-soon", key)(
            what=f"{name} ends in {(end - now).days} days, on {end:%Y-%m-%d}",
            why="then every client refuses it; no run renews what somebody else signed",
            remedy=renew,
        )
