"""A run that is killed at any moment loses nothing: the next plain run goes on and converges.

The lab is made from nothing, its run is killed (SIGKILL to the whole process group, nobody can clean up), and then run
again. CI kills two runs in a row before one is left alone; `make test-long` kills ten fresh ones, each run again.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SEED = int(os.environ.get("GROUNDUP_KILL_SEED", str(time.time_ns() % 1_000_000)))
FIRST_RUN_SECONDS = 300.0  # about what a first warm run takes: the range the moments are drawn from

pytestmark = pytest.mark.lab


def lab(verb: str, *, log: Path) -> subprocess.Popen[bytes]:
    """Start ``ci/lab VERB`` as the leader of a process group of its own."""
    with log.open("ab") as output:
        return subprocess.Popen(
            [str(ROOT / "ci/lab"), verb], cwd=ROOT, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
        )


def kill_after(seconds: float, *, log: Path) -> bool:
    """Start a run and kill its process group after ``seconds``; return False when it had ended before."""
    run = lab("up", log=log)
    try:
        run.wait(timeout=seconds)
    except subprocess.TimeoutExpired:
        os.killpg(run.pid, signal.SIGKILL)
        run.wait()
        return True
    return False


def finish(verb: str, *, log: Path) -> None:
    """Run ``ci/lab VERB`` to its end; fail with the end of its log."""
    code = lab(verb, log=log).wait()
    tail = "\n".join(log.read_text(errors="replace").splitlines()[-60:])
    assert code == 0, f"{verb} ended with {code} (seed {SEED})\n{tail}"


def moments(count: int) -> list[float]:
    """Draw ``count`` moments, one from each equal part of a run so that every layer gets its share, in random order."""
    chance = random.Random(SEED)  # noqa: S311  # a test's dice
    part = FIRST_RUN_SECONDS / count
    drawn = [part * index + chance.uniform(2.0, part) for index in range(count)]
    chance.shuffle(drawn)
    return drawn


def test_a_first_run_killed_twice_converges_when_it_is_left_alone(tmp_path: Path) -> None:
    log = tmp_path / "run.log"
    finish("destroy", log=log)
    killed = [kill_after(moment, log=log) for moment in sorted(moments(2))]
    assert killed[0], "the first run ended before it could be killed"
    finish("up", log=log)
    finish("unchanged", log=log)


@pytest.mark.long
@pytest.mark.parametrize("moment", moments(10), ids=lambda moment: f"{moment:.0f}s")
def test_a_run_killed_at_any_moment_converges_on_the_next_run(moment: float, tmp_path: Path) -> None:
    log = tmp_path / "run.log"
    finish("destroy", log=log)
    was_killed = kill_after(moment, log=log)
    started = time.monotonic()
    finish("up", log=log)
    print(
        json.dumps({"moment": round(moment), "killed": was_killed, "converged_in": round(time.monotonic() - started)})
    )
    finish("unchanged", log=log)
