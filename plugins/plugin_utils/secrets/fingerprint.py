"""Fingerprints of a store's secrets: to tell whether two runs use the same ones, without showing any.

Keyed by the site's CA key, so that nobody can guess a short password from its fingerprint.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping

from .names import CA_KEY


def fingerprints(values: Mapping[str, str]) -> dict[str, str]:
    """Return a fingerprint of each of ``values``, secrets by name; none while there is no CA key to make them with."""
    if CA_KEY not in values:
        return {}
    key = hashlib.sha256(values[CA_KEY].encode()).digest()
    return {
        name: hmac.digest(key, f"{name}\0{value}".encode(), "sha256").hex()[:32]
        for name, value in sorted(values.items())
    }
