"""How pings that were lost are counted."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.tests.e2e.pinging import parse, pinged


def said(*answered: int, sent: int) -> str:
    """Return the words of ping: one each 0.2 s, answered at once."""
    lines = [f"[{100 + 0.2 * one:.6f}] 64 bytes from 10.78.2.9: icmp_seq={one} ttl=63 time=0.5 ms" for one in answered]
    end = f"--- 10.78.2.9 ping statistics ---\n{sent} packets transmitted, {len(answered)} received, 0% packet loss"
    return "\n".join(["PING 10.78.2.9 (10.78.2.9) 56(84) bytes of data.", *lines, "", end])


def test_nothing_is_lost() -> None:
    found = parse(said(1, 2, 3, 4, sent=4))
    assert json.loads(found.line("member lost", "control-1")) == {
        "case": "member lost", "host": "control-1", "sent": 4, "lost": 0, "silent": 0.0,
    }  # fmt: skip


def test_the_longest_silence_counts_without_the_interval_that_is_always_there() -> None:
    found = parse(said(1, 2, 5, 6, 12, 13, sent=13))
    assert found.lost == 7
    assert found.silent == pytest.approx(1.0)


def test_silence_that_lasts_to_the_end_counts_too() -> None:
    found = parse(said(1, 2, sent=12))
    assert found.lost == 10
    assert found.silent == pytest.approx(2.0)


def test_an_address_that_never_answers_is_no_measurement() -> None:
    with pytest.raises(AssertionError, match="no answer at all"):
        parse(said(sent=9))


def test_a_measurement_begins_and_ends_with_answers(tmp_path: Path) -> None:
    with pinged("127.0.0.1", tmp_path / "ping") as found:
        assert not found
    assert found[0].sent >= 10
    assert found[0].silent < 1.0


@pytest.mark.parametrize("interrupts", [signal.default_int_handler, signal.SIG_IGN])
def test_an_address_that_does_not_answer_is_not_waited_for_without_end(
    interrupts: Any, request: pytest.FixtureRequest
) -> None:
    before = signal.signal(signal.SIGINT, interrupts)  # what a process that is started inherits
    request.addfinalizer(lambda: signal.signal(signal.SIGINT, before))
    nothing = Path("/dev/null")
    with pytest.raises(AssertionError, match="it did not come"), pinged("127.0.0.1", nothing, seconds=0):
        pytest.fail("the block does not begin")
