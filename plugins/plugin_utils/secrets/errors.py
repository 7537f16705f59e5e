"""The one exception of this package. Its text never holds a value, only names and places."""

from __future__ import annotations


class SecretsError(Exception):
    """A secret cannot be had. The message says what, where, why and what to do, a line each."""

    def __init__(self, what: str, *, where: str, why: str, remedy: str) -> None:
        """Keep the four lines; ``where`` is a path or a key path."""
        super().__init__(f"{what}\n  where:  {where}\n  why:    {why}\n  remedy: {remedy}")
