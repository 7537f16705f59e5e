"""What becomes of pings to a floating IP while something is lost: how many, and the longest silence."""

from __future__ import annotations

import re
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

INTERVAL = 0.2  # seconds between pings
_ANSWER = re.compile(r"^\[(\d+\.\d+)\] \d+ bytes from .*icmp_seq=(\d+) ", re.MULTILINE)
_SENT = re.compile(r"(\d+) packets transmitted")


@dataclass(frozen=True, slots=True, kw_only=True)
class Pings:
    """What came back."""

    sent: int
    lost: int
    silent: float  # seconds of the longest time without an answer, beyond the interval

    def __str__(self) -> str:
        return f"{self.lost} of {self.sent} pings lost, silent for {self.silent:.1f} s at most"


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


@contextmanager
def pinged(address: str, log: Path) -> Iterator[list[Pings]]:
    """Ping an address while the block runs; afterwards the list has what came of it."""
    found: list[Pings] = []
    with log.open("wb") as stream:
        ping = subprocess.Popen(
            ["ping", "-D", "-n", "-i", str(INTERVAL), "-W", "1", address], stdout=stream, stderr=subprocess.STDOUT
        )
        try:
            yield found
        finally:
            time.sleep(5 * INTERVAL)  # the last ones may be on their way
            ping.send_signal(signal.SIGINT)  # it says how many it sent
            ping.wait(timeout=10)
    found.append(parse(log.read_text()))
