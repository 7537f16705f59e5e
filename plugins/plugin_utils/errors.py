"""The form every error of this product has: what is wrong, where, why it matters, what to do."""

from __future__ import annotations


class GroundupError(Exception):
    """A fault an operator can act on. Its text never holds a secret.

    Attributes:
        what: the fault, with the values at fault.
        where: file, key path, host or object.
        why: why it matters.
        remedy: what to do, a command when there is one.
    """

    def __init__(self, what: str, *, where: str, why: str, remedy: str) -> None:
        """Keep the four parts; the text is a line each."""
        self.what, self.where, self.why, self.remedy = what, where, why, remedy
        super().__init__(f"{what}\n  where:  {where}\n  why:    {why}\n  remedy: {remedy}")
