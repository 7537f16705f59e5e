"""How much slower than the machine the bounds of CPU seconds were set on this one is, so that they hold on any.

Usage: ci/run python ci/bench/speed.py FILE     adds the factor of this moment to FILE, a line

Neighbours change it, so it is measured beside the run that is judged.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from pathlib import Path

REFERENCE, REFERENCE_FORKS = 0.41, 0.75  # CPU seconds of `_work` and of `_forks` on that machine
FORKS, PAGES, PAGE = 20, 8192, 4096  # processes, and pages of memory that each of them writes; bytes


def allowance(*records: Path) -> float:
    """Return by what a bound of CPU seconds is multiplied here, at least 1, and print it.

    The largest of what ``records`` hold; without any, that of this moment.
    """
    factor = max(map(float, (line for one in records for line in one.read_text().split())), default=0.0) or slower()
    print(f"this machine            {factor:>8.2f} times the CPU-s of the one the bound was set on")
    return factor


def slower() -> float:
    """Return the factor of this moment: half processor, half memory, as a controller forks for each task."""
    works, forks = ((min(one() for _ in range(3))) for one in (_work, _forks))
    return max(1.0, (works / REFERENCE + forks / REFERENCE_FORKS) / 2)


def _work() -> float:
    """Return the CPU seconds of what a controller does all day: data to text and back, and compiling."""
    started = time.process_time()
    data = {str(number): {"number": number, "words": [str(word) for word in range(20)]} for number in range(2000)}
    source = "\n".join(f"a{number} = [b for b in range({number})]" for number in range(1000))
    for _ in range(10):
        json.loads(json.dumps(data))
        compile(source, "work", "exec")
    return time.process_time() - started


def _forks() -> float:
    """Return the CPU seconds of processes that write to the memory of the one that made them."""
    memory, started = bytearray(b"\1") * (PAGES * PAGE), _spent()
    for _ in range(FORKS):
        if not (child := os.fork()):
            for place in range(0, len(memory), PAGE):
                memory[place] = 2
            os._exit(0)
        os.waitpid(child, 0)
    return _spent() - started


def _spent() -> float:
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in used)


if __name__ == "__main__":
    with Path(sys.argv[1]).open("a", encoding="ascii") as record:
        print(slower(), file=record)
