"""Compute fingerprints of secrets, to compare the stores of two runs without showing a secret.

They are keyed with the site's CA key, so that a short password cannot be guessed from its fingerprint.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping

from .names import CA_KEY


def fingerprints(values: Mapping[str, str]) -> dict[str, str]:
    """Return a fingerprint of each of ``values``, secrets by name; empty while there is no CA key."""
    if CA_KEY not in values:
        return {}
    key = hashlib.sha256(values[CA_KEY].encode()).digest()
    return {
        name: hmac.digest(key, f"{name}\0{value}".encode(), "sha256").hex()[:32]
        for name, value in sorted(values.items())
    }
