"""Says whether this machine's memory is fast enough at present for a whole cloud: neighbours can take it away.

At 0.1 to 0.6 GB/s (2026-11-29; the same machine has copied 3 to 11) a job of seconds took minutes, Keystone answered
after 200 s, the API server failed its own probes, and no timeout that is sensible elsewhere was kept.
"""

from __future__ import annotations

import statistics
import time

LEAST = 1.0  # GB/s
SIZE = 64 << 20  # bytes of each buffer: more than any cache of one core holds
SAMPLES, COPIES, PAUSE = 5, 4, 1.0  # copies of a sample; seconds between two samples


def measured(*, samples: int = SAMPLES, pause: float = PAUSE, size: int = SIZE) -> float:
    """Return how fast memory is copied again and again, in GB/s of processor time: the median of ``samples``."""
    source, target = bytearray(b"\1") * size, bytearray(b"\2") * size  # written: each page is there
    rates = []
    for _ in range(samples):
        target[:] = source  # others have used the caches meanwhile
        began = time.process_time()
        for _ in range(COPIES):
            target[:] = source
        rates.append(COPIES * size / 1e9 / max(time.process_time() - began, 1e-6))
        time.sleep(pause)
    return statistics.median(rates)


def too_slow() -> str | None:
    """Say why a whole cloud would not come up on this machine now, or None."""
    if (rate := measured()) >= LEAST:
        return None
    return f"memory is copied at {rate:.2f} GB/s at present; below {LEAST:g} a cloud on it fails its own timeouts"
