"""How much slower than the machine the bounds of CPU seconds were set on this one is, so that they hold on any."""

from __future__ import annotations

import json
import time

REFERENCE = 0.41  # CPU seconds of `_work` on that machine


def allowance() -> float:
    """Return by what a bound of CPU seconds is multiplied here, at least 1, and print it."""
    factor = max(1.0, min(_work() for _ in range(3)) / REFERENCE)
    print(f"this machine            {factor:>8.2f} times the CPU-s of the one the bound was set on")
    return factor


def _work() -> float:
    """Return the CPU seconds of what a controller does all day: data to text and back, and compiling."""
    started = time.process_time()
    data = {str(number): {"number": number, "words": [str(word) for word in range(20)]} for number in range(2000)}
    source = "\n".join(f"a{number} = [b for b in range({number})]" for number in range(1000))
    for _ in range(10):
        json.loads(json.dumps(data))
        compile(source, "work", "exec")
    return time.process_time() - started
