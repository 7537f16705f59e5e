"""What a drill measured: how long each loss took, and what was lost by it; as lines of JSON, a file, and a table."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from ansible_collections.groundup.cloud.tests.e2e.cluster import command
from ansible_collections.groundup.cloud.tests.e2e.conftest import ROOT, SITE_FILE

FILE = "drill.json"


@dataclass(frozen=True, kw_only=True)
class Loss:
    """One loss. Times of stamps are seconds since 1970; None: that part was not lost."""

    parts: tuple[str, ...]
    kills: int
    rto: float
    rows_lost: int | None = None
    rpo_rows: float | None = None
    objects_since_the_set: int | None = None


def lost(stamps: Sequence[float], found: Collection[float], *, at: float) -> tuple[int, float]:
    """Return how many stamps that were taken before ``at`` are gone, and the age of the oldest at that time."""
    there = {round(one, 3) for one in found}
    gone = [one for one in stamps if one < at and round(one, 3) not in there]
    return len(gone), round(at - min(gone), 1) if gone else 0.0


def table(losses: Sequence[Loss]) -> str:
    """Return a row a loss."""
    rows: list[tuple[str, ...]] = [("lost", "kills", "RTO s", "rows lost", "RPO s", "objects since the set")]
    rows += [
        ("+".join(one.parts), str(one.kills), f"{one.rto:.1f}", *(
            "-" if value is None else f"{value:g}" for value in (one.rows_lost, one.rpo_rows, one.objects_since_the_set)
        )) for one in losses
    ]  # fmt: skip
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)


def kept(loss: Loss, place: Path) -> list[Loss]:
    """Add ``loss`` to the file in ``place``, in the place of one of the same parts and kills; return all."""
    file = place / FILE
    former = (
        [Loss(**{**one, "parts": tuple(one["parts"])}) for one in json.loads(file.read_text())] if file.exists() else []
    )
    found = [one for one in former if (one.parts, one.kills) != (loss.parts, loss.kills)] + [loss]
    file.write_text(json.dumps([asdict(one) for one in found], indent=1) + "\n")
    return found


def killed(playbook: str, *, at: str, site: Path = SITE_FILE, **variables: object) -> float:
    """Run a playbook, and kill it and its workers as soon as it says ``at``: nobody can clean up. Return seconds."""
    said, begun = [], time.monotonic()
    with _started(playbook, variables, out=subprocess.PIPE, site=site) as process:
        assert process.stdout
        for line in process.stdout:
            said.append(line)
            if at in line:
                return time.monotonic() - begun
    raise AssertionError(f"{playbook} ended without a word of {at!r}\n{''.join(said)[-12000:]}")


def killed_when(playbook: str, *, seen: Callable[[], object], **variables: object) -> None:
    """Run a playbook, and kill it with its workers as soon as something is ``seen``; it may say nothing then."""
    with _started(playbook, variables, out=subprocess.DEVNULL) as process:
        while not seen():
            assert process.poll() is None, f"{playbook} ended with {process.returncode}, and nothing was seen"
            time.sleep(0.02)


@contextmanager
def running(playbook: str, **variables: object) -> Iterator[None]:
    """Run a playbook meanwhile. Fails when it ended by itself."""
    with _started(playbook, variables, out=subprocess.DEVNULL) as process:
        yield
        assert process.poll() is None, f"{playbook} ended with {process.returncode}"


@contextmanager
def _started(
    playbook: str, variables: Mapping[str, object], *, out: int, site: Path = SITE_FILE
) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        command(playbook, "-e", json.dumps(variables), site=site), cwd=ROOT, stdout=out, stderr=subprocess.STDOUT,
        text=True, start_new_session=True, env=os.environ,
    ) as process:  # fmt: skip
        try:
            yield process
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
