"""Compute fingerprints of secrets, to compare the stores of two runs without showing a secret.

They are keyed with the site's first CA key, so that a short password cannot be guessed from its fingerprint. A rotation
of the CA keeps that key's digest, because the cluster has fingerprints of it.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping

from .names import CA_KEY, FINGERPRINTS_KEY
from .rotation import FORMER, passing


def fingerprints(values: Mapping[str, str]) -> dict[str, str]:
    """Return a fingerprint of each of ``values``, secrets by name; empty while there is no CA key.

    Values of an open rotation have none: they are no longer, or not yet, what a site is deployed with.
    """
    if CA_KEY not in values:
        return {}
    key = bytes.fromhex(digest_of(values))
    return {
        name: hmac.digest(key, f"{name}\0{value}".encode(), "sha256").hex()[:32]
        for name, value in sorted(values.items())
        if name != FINGERPRINTS_KEY and not passing(name)
    }


def digest_of(values: Mapping[str, str]) -> str:
    """Return what fingerprints are keyed with, for `FINGERPRINTS_KEY`: the first CA key's SHA-256."""
    return values.get(FINGERPRINTS_KEY) or hashlib.sha256(values[CA_KEY].encode()).hexdigest()


def replaced(values: Mapping[str, str]) -> dict[str, str]:
    """Return the fingerprint of each former value that a rotation has replaced, by the name it had.

    Who has it and the fingerprints' key has had the store that the cluster was deployed with.
    """
    former = {name.removesuffix(FORMER): value for name, value in values.items() if name.endswith(FORMER)}
    if not former or CA_KEY not in values:
        return {}
    return fingerprints({CA_KEY: values[CA_KEY], **former, FINGERPRINTS_KEY: digest_of(values)})
