"""Find and redact secret values in text, in every form in which they can appear.

Forms are the plain value, JSON-escaped, percent-encoded, and inside base64 at each of the three byte alignments (as in
a Kubernetes Secret with a whole configuration file). A multi-line value, such as a private key, is also searched line
by line.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_private_key

SHORTEST = 6  # shorter values would redact half of any text; generated secrets have at least 8 characters
SHORTEST_BASE64 = 8  # characters of base64 that cannot match by chance
_LINE = 24  # shorter lines of a multi-line value are not secret by themselves, such as the markers of a PEM file
_PUBLIC = ("-----", "Comment: ")  # prefixes of a key's lines that its public part has too: PEM, OpenPGP armor


def forms(value: str) -> frozenset[str]:
    """Return every string that would reveal ``value`` in a text."""
    whole = {value, json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1], quote(value, safe="")}
    public = _public_part(value)
    lines = {
        line for line in value.splitlines()
        if len(line) >= _LINE and not line.startswith(_PUBLIC) and not _within(line, public)
    }  # fmt: skip
    found = {form for form in whole | (lines if "\n" in value else set()) if len(form) >= SHORTEST}
    for text in [value] if "\n" not in value else sorted(lines):
        found.update(_base64_forms(text.encode()))
    return frozenset(found)


def _public_part(value: str) -> bytes:
    """Return the point of an elliptic curve's key, which its PEM file and its certificate have in common; else b""."""
    if "PRIVATE KEY-----" not in value:
        return b""
    try:
        key = load_pem_private_key(value.encode(), password=None).public_key()
    except (ValueError, TypeError, UnsupportedAlgorithm):
        return b""
    if not isinstance(key, EllipticCurvePublicKey):
        return b""
    return key.public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)


def _within(line: str, public: bytes) -> bool:
    """Return whether a line of base64 encodes a part of ``public``."""
    try:
        return base64.b64decode(line, validate=True) in public
    except ValueError:
        return False


def _base64_forms(raw: bytes) -> set[str]:
    """Return the base64 characters that depend only on ``raw``, for each of the three alignments."""
    found = set()
    for before in range(3):
        encoded = base64.b64encode(bytes(before) + raw).decode("ascii")
        start = -(-before * 8 // 6)
        end = (before + len(raw)) * 8 // 6
        inner = encoded[start:end]
        if len(inner) >= SHORTEST_BASE64:
            found |= {inner, inner.translate(str.maketrans("+/", "-_"))}
    return found


class Redactor:
    """Replace every form of every value by ``[secret NAME]``; created once, used on each text before it is shown."""

    def __init__(self, secrets: Mapping[str, str]) -> None:
        """Prepare one pattern for the values of ``secrets``, by name; longest first, so that no part of one is left."""
        self._names = {form: name for name in sorted(secrets, reverse=True) for form in forms(secrets[name])}
        every = sorted(self._names, key=len, reverse=True)
        self._pattern = re.compile("|".join(map(re.escape, every))) if every else None

    def text(self, text: str) -> str:
        """Return ``text`` without secrets."""
        return self._pattern.sub(lambda found: f"[secret {self._names[found[0]]}]", text) if self._pattern else text

    def value(self, value: Any) -> Any:
        """Return JSON-like ``value`` without secrets, also in keys."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            return {self.value(key): self.value(item) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return [self.value(item) for item in value]
        return value

    def __repr__(self) -> str:
        """Return a text without secrets."""
        return "Redactor()"
