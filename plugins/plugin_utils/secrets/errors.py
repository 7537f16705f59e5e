"""The one exception of this package. Its text never holds a value, only names and places."""

from __future__ import annotations

from ..errors import GroundupError


class SecretsError(GroundupError):
    """A secret cannot be read or made."""
