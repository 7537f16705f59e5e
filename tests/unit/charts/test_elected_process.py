"""The process of a service that runs in one of several pods at a time, and the probes of its pods."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from .conftest import CHARTS

PROBE = CHARTS / "groundup-lib/files/elected-probe.sh"
# A service with a child in its group, and one that left it, as helpers with other rights do.
FAMILY = """
import os, signal, subprocess, sys, time
if "deaf" in sys.argv:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
sleep = [sys.executable, "-c", "import signal,time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)"]
pids = [os.getpid(), subprocess.Popen(sleep).pid, subprocess.Popen(sleep, start_new_session=True).pid]
open(sys.argv[1] + ".new", "w").write(" ".join(map(str, pids)))
os.rename(sys.argv[1] + ".new", sys.argv[1])
time.sleep(600)
"""
# The real service below a process of its own: it reaps every child there is.
DRIVER = """
import sys, time
sys.path[:0] = [{files!r}]
import ctypes, pathlib, elected
ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)
service = elected.Service([sys.executable, "-c", {family!r}, {told!r}, *sys.argv[2:]])
service.start()
while not pathlib.Path({told!r}).exists():
    assert service.runs()
    time.sleep(0.05)
getattr(service, sys.argv[1])()
end = time.monotonic() + 20
while service.runs():
    assert time.monotonic() < end
    time.sleep(0.05)
print(service.status)
"""


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.parametrize(
    ("how", "kind", "status"),
    [("tell", "", 128 + signal.SIGTERM), ("kill", "", 128 + signal.SIGKILL), ("kill", "deaf", 128 + signal.SIGKILL)],
)
def test_nothing_of_a_service_outlives_it(tmp_path: Path, how: str, kind: str, status: int) -> None:
    told = tmp_path / "pids"
    driver = DRIVER.format(files=str(CHARTS / "groundup-lib/files"), family=FAMILY, told=str(told))
    done = subprocess.run(
        [sys.executable, "-B", "-c", driver, how, kind], capture_output=True, text=True, timeout=60, check=False
    )
    pids = [int(pid) for pid in told.read_text().split()]
    left = [pid for pid in pids if alive(pid)]
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    assert done.stdout.split() == [str(status)], done.stderr
    assert left == []


@pytest.mark.parametrize(
    ("marks", "arguments", "code"),
    [
        (("alive",), ["alive"], 0),
        ((), ["alive"], 1),
        (("old",), ["alive"], 1),
        ((), ["ready", "true"], 1),
        (("alive",), ["ready", "false"], 0),
        (("alive", "running"), ["ready", "false"], 1),
        (("alive", "running"), ["ready", "true"], 0),
    ],
)
def test_a_waiting_copy_is_ready_and_a_hung_one_is_not_alive(
    tmp_path: Path, marks: tuple[str, ...], arguments: list[str], code: int
) -> None:
    probe = tmp_path / "probe.sh"
    probe.write_text(PROBE.read_text().replace("/tmp/", f"{tmp_path}/"))  # noqa: S108  # the pod's own
    for mark in marks:
        path = tmp_path / f"elected-{mark.replace('old', 'alive')}"
        path.touch()
        if mark == "old":
            os.utime(path, (time.time() - 60,) * 2)
    assert subprocess.run(["sh", probe, *arguments], check=False).returncode == code
