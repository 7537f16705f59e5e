"""Decide on the whole change: every reason against it is accepted, or nothing is changed.

A reason is accepted by naming its code, or ``code:release``, in ``rollout_force``.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..types import GateReason, GateRefusedError


def decide(found: Iterable[GateReason], *, force: Iterable[str] = ()) -> tuple[GateReason, ...]:
    """Return the reasons that were accepted. Raises GateRefusedError with the table of the others, if any."""
    accepted = set(force)
    kept: list[GateReason] = []
    taken: list[GateReason] = []
    for reason in found:
        known = reason.code in accepted or f"{reason.code}:{reason.release}" in accepted
        (taken if known else kept).append(reason)
    if kept:
        raise GateRefusedError(
            table(kept),
            where="the change as a whole; nothing was changed",
            why="each of these breaks a cloud or cannot be taken back",
            remedy="change the site file, or accept by name: rollout_force="
            + ",".join(sorted({f"{reason.code}:{reason.release}" for reason in kept})),
        )
    return tuple(taken)


def table(found: Iterable[GateReason]) -> str:
    """Return the reasons as lines of text."""
    lines = []
    for reason in found:
        lines.append(f"{reason.code:<18} {reason.release}: {reason.what}")
        lines.append(f"{'':<18}   {reason.why}; {reason.remedy}")
    return "\n".join(lines)
