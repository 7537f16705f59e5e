"""Replace the site's CAs without a gap: each in three phases, and the position is in the store and in the CA's file.

`begin`: a second key and certificate; whoever reads the file trusts both, and the old one signs. `switch`: the new one
signs, and leaves are issued again. `drop`: the old certificate leaves the file. Each may be killed and done again.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from cryptography import x509
from cryptography.hazmat.primitives import hashes

from ...module_utils._base.files import write_file
from ..layers import authorities
from ..layers.authorities import USES, Use
from ..vault import Store, rotation
from ..vault.fingerprint import digest_of
from ..vault.names import FINGERPRINTS_KEY
from .authority import ensure_key, issued_by, read_certificates, same_key, successor, to_pem

Position = Literal["closed", "both", "new"]  # no rotation; both are trusted; the new one signs, both are trusted


@dataclass(frozen=True, slots=True, kw_only=True)
class Succession:
    """An authority, and the one that follows it or went before."""

    use: Use
    position: Position
    signs: tuple[x509.Certificate, ...]  # none before the site's first run
    other: tuple[x509.Certificate, ...]  # certificates of the successor (`both`) or of the predecessor (`new`)

    @property
    def trusted(self) -> tuple[x509.Certificate, ...]:
        """Return what every reader must have."""
        return (*self.signs, *self.other)

    def former(self, leaf: x509.Certificate) -> bool:
        """Return whether ``leaf`` was issued by the authority that leaves."""
        return self.position == "new" and any(issued_by(leaf, one) for one in self.other)


def look(store: Store, directory: Path) -> tuple[Succession, ...]:
    """Return where the rotation of each authority of the site is. Raises PkiError, SecretsError."""
    found = (_look(store, directory, use) for use in USES)
    return tuple(one for one in found if one.trusted or one.use == "site")


def lacking(found: Iterable[Succession], store: Store, *, monitoring: bool) -> list[Use]:
    """Return the uses of the site, with or without ``monitoring``, for which none of ``found`` signs."""
    signing = {one.use for one in found if one.signs}
    return [use for use in authorities.needed(monitoring=monitoring, known=store.names()) if use not in signing]


def published(directory: Path) -> dict[str, str]:
    """Return the certificate (PEM) of every authority, successors and predecessors too, by fingerprint."""
    found = [one for use in USES for one in read_certificates(directory / authorities.file(use))]
    return {fingerprint(one): to_pem(one) for one in found}


def fingerprint(certificate: x509.Certificate) -> str:
    """Return the SHA-256 of ``certificate``, in hexadecimal."""
    return certificate.fingerprint(hashes.SHA256()).hex()


def position(found: Iterable[Succession]) -> Position:
    """Return the phase that all authorities have reached: a phase that was killed is done again."""
    order: tuple[Position, ...] = ("both", "new", "closed")
    places = {one.position for one in found}
    if "both" in places and "closed" in places:
        return "closed"  # `begin` was killed
    return next(one for one in order if one in places)


def begin(store: Store) -> None:
    """Make the keys of the successors; the next `ensure_authority` makes their certificates. Raises SecretsError."""
    rotation.stage(store, _names(store), users={})


def switch(store: Store) -> None:
    """Have the successors sign from now on. Raises SecretsError."""

    def pin(values: dict[str, str]) -> tuple[str, ...]:
        if FINGERPRINTS_KEY in values:
            return ()
        values[FINGERPRINTS_KEY] = digest_of(values)
        return (FINGERPRINTS_KEY,)

    store.edit(pin)
    rotation.swap(store, _names(store))


def drop(store: Store, directory: Path) -> None:
    """Take the predecessors' certificates away, then their keys. Raises PkiError, SecretsError, OSError."""
    for one in look(store, directory):
        if one.position == "new" and one.other:
            text = "".join(map(to_pem, one.signs))
            write_file(directory / authorities.file(one.use), text.encode(), mode=0o644)
    for name in _names(store):
        rotation.end(store, name)


def _names(store: Store) -> list[str]:
    return [name for name in map(authorities.key_name, USES) if name in store.names()]


def _look(store: Store, directory: Path, use: Use) -> Succession:
    found = read_certificates(directory / authorities.file(use))
    if not found:
        return Succession(use=use, position="closed", signs=(), other=())
    key, following = ensure_key(store, authorities.key_name(use)), successor(store, use)
    signing = tuple(one for one in found if same_key(one, key))
    other = tuple(one for one in found if one not in signing)
    place: Position = "closed"
    if following is not None:
        place = "both" if any(same_key(one, following) for one in other) else "closed"
    elif other or authorities.key_name(use) + rotation.FORMER in store.names():
        place = "new"
    return Succession(use=use, position=place, signs=signing, other=other)
