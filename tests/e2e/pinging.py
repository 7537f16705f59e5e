"""What becomes of pings to a floating IP while something is lost: how many, and the longest silence."""

from __future__ import annotations

import json
import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from ansible_collections.groundup.cloud.tests.e2e.waiting import until

INTERVAL = 0.2  # seconds between pings
_STEADY = 5  # answers that are no accident
_ANSWER = re.compile(r"^\[(\d+\.\d+)\] \d+ bytes from .*icmp_seq=(\d+) ", re.MULTILINE)
_SENT = re.compile(r"(\d+) packets transmitted")


@dataclass(frozen=True, slots=True, kw_only=True)
class Pings:
    """What came back."""

    sent: int
    lost: int
    silent: float  # seconds of the longest time without an answer, beyond the interval

    def line(self, case: str, host: str) -> str:
        """Return it as a line of JSON."""
        figures = {"sent": self.sent, "lost": self.lost, "silent": round(self.silent, 1)}
        return json.dumps({"case": case, "host": host, **figures})


def parse(text: str) -> Pings:
    """Return what `ping -D` said. Raises AssertionError when nothing ever answered."""
    answers = {int(number): float(at) for at, number in _ANSWER.findall(text)}
    sent = _SENT.search(text)
    assert answers, f"no answer at all\n{text[-2000:]}"
    assert sent, f"ping did not end by itself\n{text[-2000:]}"
    times = sorted(answers.values())
    gaps = [after - before for before, after in pairwise(times)]
    # Silence at the end has no answer after it: what was sent since the last one.
    gaps.append((int(sent[1]) - max(answers) + 1) * INTERVAL)
    return Pings(sent=int(sent[1]), lost=int(sent[1]) - len(answers), silent=max(0.0, max(gaps) - INTERVAL))


def answers(log: Path) -> int:
    """Return how many pings were answered so far."""
    return len(_ANSWER.findall(log.read_text()))


def _end(ping: subprocess.Popen[bytes]) -> None:
    """Interrupt a ping, which then says how many it sent.

    Again and again: where interrupts are ignored, as in a job of the background, they are until it has begun.
    """
    for _ in range(10):
        ping.send_signal(signal.SIGINT)
        with suppress(subprocess.TimeoutExpired):
            ping.wait(timeout=1)
            return
    ping.kill()
    ping.wait()
    raise AssertionError("ping did not end when it was interrupted")


@contextmanager
def pinged(address: str, log: Path, *, seconds: float = 180.0) -> Iterator[list[Pings]]:
    """Ping an address while the block runs; afterwards the list has what came of it.

    The address answers before the block begins, and again, within ``seconds``, when it has ended.
    """
    found: list[Pings] = []
    with log.open("wb") as stream:
        ping = subprocess.Popen(
            ["ping", "-D", "-n", "-i", str(INTERVAL), "-W", "1", address], stdout=stream, stderr=subprocess.STDOUT
        )
        try:
            until(lambda: answers(log) >= _STEADY, seconds=seconds)
            yield found
            before = answers(log)
            until(lambda: answers(log) >= before + _STEADY, seconds=seconds)
        finally:
            _end(ping)
    found.append(parse(log.read_text()))
