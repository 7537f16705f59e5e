"""A step is timed and says what failed; a run that dies leaves its worker the time to delete what it made."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from pathlib import Path

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base.wait import wait_until
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud.steps import SmokeError, Steps
from openstack.exceptions import ConflictException

# A run, and a worker of it that deletes what it made when it is told to end.
RUN = """
import os, sys, time
from pathlib import Path
from ansible_collections.groundup.cloud.plugins.plugin_utils.lifetime import end_workers_with_run
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud.steps import interruptible
end_workers_with_run()
if os.fork() == 0:
    os.setsid()
    with interruptible() as deaf:
        try:
            Path("begun").touch()
            time.sleep(600)
        finally:
            deaf()
            time.sleep(1)
            Path("deleted").touch()
    os._exit(0)
time.sleep(600)
"""


def test_steps_are_timed_and_printed() -> None:
    lines: list[str] = []
    steps = Steps(lines.append, clock=itertools.count(step=3).__next__)
    with steps.step("network", layer="network") as step:
        step.detail = "MTU 1442"
    assert lines == ["[smoke] network           3.0 s  MTU 1442"]
    assert steps.result() == [{"name": "network", "seconds": 3, "detail": "MTU 1442", "ok": True}]


def test_what_the_cloud_refuses_is_the_steps_error() -> None:
    lines: list[str] = []
    steps = Steps(lines.append)
    with pytest.raises(SmokeError, match="no more addresses") as caught, steps.step("router", layer="network"):
        raise ConflictException("Conflict", details="no more addresses")
    assert (caught.value.layer, caught.value.where) == ("network", "step router")
    assert lines[0].endswith("failed")
    assert not steps.done[0].ok


@pytest.mark.parametrize("number", [9, 15])
def test_a_worker_outlives_its_run_to_delete_what_it_made(number: int, tmp_path: Path) -> None:
    run = subprocess.Popen([sys.executable, "-c", RUN], cwd=tmp_path)
    try:
        assert not wait_until(lambda: not (tmp_path / "begun").exists(), timeout=120, pause=0.05)
        os.kill(run.pid, number)
        assert not wait_until(lambda: not (tmp_path / "deleted").exists(), timeout=120, pause=0.05)
    finally:
        run.kill()
        run.wait()
