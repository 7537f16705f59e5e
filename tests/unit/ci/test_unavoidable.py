"""Which faults of a rolling restart are nobody's: by what was done meanwhile, or by cause, words and lane."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from ansible_collections.groundup.cloud.tests.e2e.unavoidable import DROPPED, explained

WRITE, READ = "kubernetes write kept", "kubernetes read kept"


def fault(cause: str = "HTTP 500", said: str = DROPPED[1], steps: Sequence[str] = ()) -> dict[str, Any]:
    return {"cause": cause, "said": said, "steps": list(steps)}


def cut(*steps: str) -> dict[str, Any]:
    return fault("RemoteDisconnected", "Remote end closed connection without response", steps)


def figures(*faults: dict[str, Any], more: int = 0) -> dict[str, Any]:
    failed = sum(one["cause"].startswith("HTTP") for one in faults)
    return {"failed": failed + more, "unanswered": len(faults) - failed, "faults": list(faults)}


@pytest.mark.parametrize(
    ("lane", "found", "well"),
    [
        (WRITE, figures(), True),
        (WRITE, figures(fault(), cut()), True),
        (WRITE, figures(fault(said=DROPPED[0])), True),
        (WRITE, figures(fault(), fault()), False),  # the leadership moves once
        (WRITE, figures(fault(), more=1), False),  # a fault that is not shown
        (WRITE, figures(fault(said="etcdserver: leader changed")), False),
        (WRITE, figures(fault(cause="HTTP 503")), False),
        (READ, figures(fault()), False),
        (READ, figures(cut(), cut(), cut()), True),
        (READ, figures(fault("SSLEOFError", "EOF occurred in violation of protocol")), True),
        (READ, figures(cut(), cut(), cut(), cut()), False),
        ("kubernetes read new", figures(cut()), False),
        ("servers kept", figures(cut()), False),  # the cloud's APIs did not restart
        (READ, figures(fault("TimeoutError", "")), False),
    ],
)
def test_a_prober_that_knows_no_steps_judges_by_cause_words_and_lane(
    lane: str, found: dict[str, Any], *, well: bool
) -> None:
    assert explained(lane, found, servers=3, told=False) == well


def test_a_prober_that_was_told_wants_the_step_too() -> None:
    dropped, ended = fault(steps=["a: hand over"]), cut("a: end kube-apiserver")
    assert explained(WRITE, figures(dropped, ended), servers=3)
    assert not explained(WRITE, figures(fault()), servers=3)
    assert not explained(WRITE, figures(fault(steps=["b: end etcd", "a: hand over"])), servers=3), "begun before it"
    assert not explained(READ, figures(cut("a: hand over")), servers=3)
