"""CAs of the site file, written into it or in files that it names: each is a CA's certificate, valid now."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from .. import pem
from ..form import error, warning
from ..layout.context import PlanContext
from ..model.base import Model
from ..types import Finding

if TYPE_CHECKING:
    from cryptography import x509

_BEGIN = "-----BEGIN CERTIFICATE-----"
_SOON = timedelta(days=30)  # of a short life: a third


def check(context: PlanContext) -> Iterator[Finding]:
    """Yield findings about the CAs that are written into the site file itself."""
    for key, text in _written(context.site, ""):
        found = pem.parse(text)
        if found.damaged or not found.certificates:
            yield error("ca-unreadable", key)(
                what="it is framed as a certificate, and one in it does not parse",
                why="who checks servers against it would trust none of them, or refuse to start",
                remedy="write the CA's certificate as it is, whole, from BEGIN to END",
            )
        for one in found.certificates:
            yield from judged(one, pem.name_of(one), key, now=context.site.now)


def _written(model: Model, prefix: str) -> Iterator[tuple[str, str]]:
    """Yield key path and text of each certificate in the fields of ``model``; free-form values are the operator's."""
    for name, value in model:
        inside = value.items() if isinstance(value, dict) else [("", value)]
        for key, one in inside:
            path = f"{prefix}{name}.{key}".rstrip(".")
            if isinstance(one, Model):
                yield from _written(one, f"{path}.")
            elif one is value and isinstance(one, str) and one.startswith(_BEGIN):
                yield path, one


def judged(one: x509.Certificate, name: str, key: str, *, now: datetime | None) -> Iterator[Finding]:
    """Yield findings about ``one``, which is to be a CA's. ``name``: for people."""
    if pem.may_sign(one):
        yield from dates(one, name, key, now=now, ca=True)
        return
    yield error("ca-is-no-ca", key)(
        what=f"{name} is no CA",
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
