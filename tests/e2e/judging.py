"""Judges what came of requests: how many failed, with what the server said and what was done to it meanwhile.

A request that began a second too late, or while the prober got no processor for a second, says nothing of the server:
it is "not measured", and never good.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

LATE = 1.0  # seconds of the prober's own delay from which nothing is known of the server
SHOWN = 20  # faults of a lane that are shown with all that is known of them


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A request, and what came of it. Times are the monotonic clock's."""

    due: float
    began: float
    ended: float
    cause: str = ""  # empty: a good answer
    answered: bool = True
    asked: str = ""  # method and path
    said: str = ""  # of an error: what the server said, or the client's library
    headers: Mapping[str, str] = field(default_factory=dict)  # of an error


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What is done to the servers from ``began`` until the next step begins."""

    began: float
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A request that failed, as it is shown."""

    at: float  # seconds since the first request was due
    seconds: float
    steps: list[str]  # what was done to the servers meanwhile
    asked: str
    cause: str
    said: str
    headers: dict[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Lane:
    """What came of one kind of request."""

    sent: int
    failed: int  # answers that are errors
    unanswered: int
    not_measured: int  # the prober itself was late
    p50: float
    p99: float
    gap: float  # seconds of the longest time without a good answer, beyond the interval
    reopened: int  # kept connections that the server closed between two requests
    causes: dict[str, int]
    faults: list[Fault] = field(default_factory=list)  # the first of them, the answered ones before all others

    @property
    def good(self) -> bool:
        """Return whether everything was measured and nothing failed."""
        return self.sent > 0 and not (self.failed or self.unanswered or self.not_measured)


def judge(
    requests: Sequence[Request],
    *,
    every: float,
    delays: Sequence[tuple[float, float]] = (),
    reopened: int = 0,
    steps: Sequence[Step] = (),
) -> Lane:
    """Return the figures of ``requests``. ``delays``: from when to when the prober itself got no processor."""

    def measured(one: Request) -> bool:
        return one.began - one.due < LATE and not any(one.due < end and begin < one.ended for begin, end in delays)

    faults = [one for one in requests if one.cause]
    good = [one for one in requests if not one.cause and measured(one)]
    seconds = sorted(one.ended - one.began for one in good) or [0.0]
    ends = sorted(one.ended for one in requests if not one.cause)
    if requests:
        ends = [min(one.due for one in requests), *ends, max(one.ended for one in requests)]
    return Lane(
        sent=len(requests),
        failed=sum(one.answered for one in faults),
        unanswered=sum(not one.answered for one in faults),
        not_measured=len(requests) - len(faults) - len(good),
        p50=round(seconds[len(seconds) // 2], 3),
        p99=round(seconds[int(len(seconds) * 0.99)], 3),
        gap=round(max((after - before - every for before, after in pairwise(ends)), default=0.0), 1),
        reopened=reopened,
        causes=dict(Counter(one.cause for one in faults)),
        # What was answered wrongly first: while a server is away, the unanswered are many, and all alike.
        faults=[_fault(one, steps, since=ends[0]) for one in sorted(faults, key=lambda one: not one.answered)[:SHOWN]],
    )


def _fault(one: Request, steps: Sequence[Step], *, since: float) -> Fault:
    ends = [*(step.began for step in steps[1:]), math.inf]
    met = [step.name for step, end in zip(steps, ends, strict=False) if step.began <= one.ended and one.began < end]
    return Fault(
        at=round(one.began - since, 1), seconds=round(one.ended - one.began, 2), steps=met,
        asked=one.asked, cause=one.cause, said=one.said, headers=dict(one.headers),
    )  # fmt: skip
