"""A run that is killed at any moment loses nothing: the next plain run goes on and converges.

The lab is made from nothing, its run is killed (SIGKILL to the whole process group, nobody can clean up), and then run
again. CI kills two runs in a row before one is left alone; `make test-long` kills ten fresh ones, each run again.
Those runs show all they can, and are watched: what they do together is everything a first run does.
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
from ansible_collections.groundup.cloud.tests.e2e.leaks import Leaks, command_lines

ROOT = Path(__file__).resolve().parents[2]
SEED = int(os.environ.get("GROUNDUP_KILL_SEED", str(time.time_ns() % 1_000_000)))
KILLS = 10  # of the long test
SHOWS_ALL = {"ANSIBLE_VERBOSITY": "3", "ANSIBLE_DIFF_ALWAYS": "true"}

pytestmark = pytest.mark.lab


def lab(verb: str, *, log: Path) -> subprocess.Popen[bytes]:
    """Start ``ci/lab VERB`` as the leader of a process group of its own."""
    with log.open("ab") as output:
        return subprocess.Popen(
            [str(ROOT / "ci/lab"), verb], cwd=ROOT, stdout=output, stderr=subprocess.STDOUT, start_new_session=True,
            env=os.environ | ({} if verb == "unchanged" else SHOWS_ALL),  # ci/bench/cloud.py judges what that costs
        )  # fmt: skip


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


def moments(count: int, *, length: float) -> list[float]:
    """Draw ``count`` moments, one from each equal part of ``length`` seconds, so that every layer gets its share."""
    chance = random.Random(SEED)  # noqa: S311  # a test's dice
    part = length / count
    return [part * index + chance.uniform(2.0, part) for index in range(count)]


@pytest.fixture(scope="module")
def first_run(tmp_path_factory: pytest.TempPathFactory) -> float:
    """Return the seconds a first run takes here and now: what is drawn from a longer one would kill nothing."""
    log = tmp_path_factory.mktemp("measured") / "run.log"
    finish("destroy", log=log)
    started = time.monotonic()
    finish("up", log=log)
    return time.monotonic() - started


def test_runs_killed_twice_converge_when_left_alone_and_show_no_secret(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    log = tmp_path / "run.log"
    finish("destroy", log=log)
    with command_lines() as lines:
        # Half a minute is less than a first run takes anywhere, and the second goes on where that was killed.
        killed = [kill_after(moment, log=log) for moment in moments(2, length=60.0)]
        finish("up", log=log)
    assert killed == [True, True], "a run ended before it could be killed"
    finish("unchanged", log=log)

    leaks: Leaks = request.getfixturevalue("leaks")  # only now is there a store
    leaks.look("output of the runs", log.read_bytes())
    leaks.look_at_commands(lines)
    assert leaks.seen == set()


@pytest.mark.long
@pytest.mark.parametrize("which", range(KILLS))
def test_a_run_killed_at_any_moment_converges_on_the_next_run(which: int, first_run: float, tmp_path: Path) -> None:
    moment, log = moments(KILLS, length=0.9 * first_run)[which], tmp_path / "run.log"
    finish("destroy", log=log)
    while not kill_after(moment, log=log):  # this run was shorter than the one that was measured
        assert moment > 10.0, f"a first run ended within {moment:.0f} s (seed {SEED})"
        moment /= 2
        finish("destroy", log=log)
    started = time.monotonic()
    finish("up", log=log)
    print(json.dumps({"first_run": round(first_run), "moment": round(moment), "s": round(time.monotonic() - started)}))
    finish("unchanged", log=log)
