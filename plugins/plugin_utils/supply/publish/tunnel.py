"""An ssh tunnel to a seed's registry, which takes images at the seed's loopback only."""

from __future__ import annotations

import shlex
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from ...errors import GroundupError
from .http import ask

# Before all that was asked for: of several values ssh takes the first. A connection kept for others would outlive us.
_OURS = (
    "-N", "-T", "-o", "ControlMaster=no", "-o", "ControlPath=none", "-o", "ControlPersist=no", "-o", "BatchMode=yes",
    "-o", "ExitOnForwardFailure=yes", "-o", "Compression=no", "-o", "LogLevel=ERROR",
)  # fmt: skip


def ssh_command(option: Callable[[str], Any], *, transport: str) -> list[str]:
    """Return the ssh command of Ansible's connection, by its options. Raises GroundupError for another connection."""
    if transport != "ssh":
        raise GroundupError(
            f"the seed is reached by connection {transport}",
            where="ansible_connection",
            why="its registry takes images at its own loopback only, and ssh is the way there",
            remedy="use connection ssh for the seed",
        )
    command = [str(option("ssh_executable") or "ssh")]
    if not option("host_key_checking"):
        command += ["-o", "StrictHostKeyChecking=no"]
    for flag, name in (("-p", "port"), ("-l", "remote_user"), ("-i", "private_key_file")):
        if value := option(name):
            command += [flag, str(value)]
    if timeout := option("timeout"):
        command += ["-o", f"ConnectTimeout={timeout}"]
    for name in ("ssh_args", "ssh_common_args", "ssh_extra_args"):
        command += shlex.split(option(name) or "")
    return [*command, str(option("host"))]


@contextmanager
def tunnel(ssh: Sequence[str], target: str, *, seconds: float = 60) -> Iterator[str]:
    """Yield an ``address:port`` here that leads to ``target`` of the host that the command ``ssh`` reaches.

    Raises GroundupError when it does not reach it, or when no registry answers there within ``seconds``.
    """
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        here = f"127.0.0.1:{listener.getsockname()[1]}"
    # setpriv: it dies with this process, whatever ends it.
    command = ["setpriv", "--pdeathsig", "TERM", ssh[0], *_OURS, "-L", f"{here}:{target}", *ssh[1:]]
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output)
        try:
            deadline = time.monotonic() + seconds
            while not _answers(f"http://{here}/v2/"):
                if process.poll() is not None or time.monotonic() > deadline:
                    output.seek(0)
                    raise _no_way(ssh[-1], target, output.read().decode(errors="replace").strip())
                time.sleep(0.1)
            yield here
        finally:
            process.terminate()
            process.wait()


def _answers(url: str) -> bool:
    with suppress(OSError):
        return bool(ask(url, timeout=5))
    return False


def _no_way(host: str, target: str, fault: str) -> GroundupError:
    return GroundupError(
        f"no registry answers at {target} of {host}: {fault or 'nothing listens there'}",
        where=f"{host}, through ssh",
        why="images cannot be put into the site's registry; it takes them at its own loopback only",
        remedy="on the seed: systemctl status docker-registry; its sshd must allow TCP forwarding",
    )
