"""Refuse a destructive command for its reasons, until the operator accepts them."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from .errors import GroundupError


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason:
    """A reason to refuse a command. ``code`` in the operator's force list accepts it; None: it cannot be accepted."""

    text: str
    code: str | None = None


def refuse_unknown(what: str, force: Iterable[str], codes: Collection[str], *, variable: str) -> None:
    """Raise GroundupError when ``variable`` accepts something that is no risk of ``what``."""
    if unknown := sorted({*force} - {*codes}):
        raise GroundupError(
            f"{what} has no risk {', '.join(unknown)} to accept", where=f"the variable {variable}",
            why="what is accepted must be what is lost", remedy=f"one of {', '.join(codes) or 'none'}",
        )  # fmt: skip


def refuse(
    verb: str, what: str, against: Iterable[Reason], force: Collection[str], *, where: str, why: str, first: str
) -> None:
    """Raise GroundupError when ``against`` holds a reason that ``force`` does not accept.

    The remedy is ``first``; it also names the codes to accept when every reason left has one.
    """
    left = [one for one in against if one.code is None or one.code not in force]
    if left:
        codes = ", ".join(sorted({one.code or "" for one in left}))
        enough = all(one.code for one in left)
        raise GroundupError(
            f"{verb} {what}: {'; '.join(one.text for one in left)}",
            where=where,
            why=why,
            remedy=first + (f", or accept it with -e '{{\"{verb}_force\": [{codes}]}}'" if enough else ""),
        )
