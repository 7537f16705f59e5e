"""Start and stop a host's processes with runc; find them by process id and start time."""

from __future__ import annotations

import contextlib
import json
import shutil
import socket
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .._base.errors import GroundupError
from .._base.run import run
from .._base.wait import wait_until
from .cgroups import kill_group, remove_groups
from .model import LabHost
from .names import Lab

START_TIMEOUT = 60.0  # seconds until PID 1 must run; usually under one
BANNER_TIMEOUT = 10.0  # seconds; on an emulated machine sshd needed more than one for it


def init_pid(lab: Lab, host: str) -> int | None:
    """Return the process id of PID 1 of ``host``; None when it does not run."""
    try:
        state = json.loads((lab.runc / lab.id(host) / "state.json").read_text())
        pid, started = int(state["init_process_pid"]), int(state["init_process_start"])
        status = Path(f"/proc/{pid}/stat").read_text()
    except (OSError, ValueError, KeyError):
        return None
    # proc(5): the command, in brackets, may contain anything; state is field 3, start time field 22.
    fields = status.rpartition(")")[2].split()
    return pid if fields[0] not in "ZX" and int(fields[19]) == started else None


def start(lab: Lab, host: str, config: Mapping[str, Any]) -> None:
    """Start ``host`` so that it outlives this process. Raises GroundupError."""
    bundle = lab.home(host)
    (bundle / "config.json").write_text(json.dumps(config, indent=1))
    lab.runc.mkdir(mode=0o700, parents=True, exist_ok=True)
    console = lab.console(host)
    command = ("runc", "--root", str(lab.runc), "run", "--detach", "--bundle", str(bundle), lab.id(host))
    with console.open("w") as output:
        # The container inherits these streams: a pipe would break when this process ends.
        try:
            done = subprocess.run(
                command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, check=False, start_new_session=True,
                timeout=START_TIMEOUT,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            raise _failed(f"{host}: runc did not start it within {START_TIMEOUT:g} s: {_tail(console)}", lab) from None
    if done.returncode:
        raise _failed(f"{host}: runc could not start it: {_tail(console)}", lab)


def stop(lab: Lab, host: str) -> None:
    """Stop every process of ``host`` and remove its runtime records, also incomplete ones. Raises GroundupError."""
    record = lab.runc / lab.id(host)
    if record.exists():
        with contextlib.suppress(GroundupError):  # an incomplete record: its processes are found by control group below
            run(["runc", "--root", str(lab.runc), "delete", "--force", lab.id(host)])
        shutil.rmtree(record, ignore_errors=True)
    kill_group(f"{lab.cgroup}/{host}")
    remove_groups(f"{lab.cgroup}/{host}")


def wait_for_login(lab: Lab, host: LabHost, *, port: int, timeout: float) -> None:
    """Wait until ``host`` answers ssh and its boot allows logins. Raises GroundupError."""

    def pending() -> bool:
        pid = init_pid(lab, host.name)
        if pid is None:
            raise _failed(f"{host.name}: its PID 1 ended while it booted: {_tail(lab.console(host.name))}", lab)
        return not _banner(host.address, port) or Path(f"/proc/{pid}/root/run/nologin").exists()

    if wait_until(pending, timeout=timeout, pause=0.1):
        raise _failed(f"{host.name}: no ssh at {host.address}:{port} within {timeout:g} s of its start", lab)


def _failed(what: str, lab: Lab) -> GroundupError:
    return GroundupError(
        what,
        where="this machine",
        why="the layers above reach the host by ssh",
        remedy=f"runc --root {lab.runc} list; runc --root {lab.runc} exec ID systemctl list-jobs",
    )


def _banner(address: str, port: int) -> bool:
    try:
        with socket.create_connection((address, port), timeout=BANNER_TIMEOUT) as connection:
            return connection.recv(4) == b"SSH-"
    except OSError:
        return False


def _tail(path: Path) -> str:
    return " | ".join(path.read_text(errors="replace").splitlines()[-5:]) or "it printed nothing"
