"""Open an ssh tunnel to a seed: its registry accepts images on its loopback only, and it serves only the site."""

from __future__ import annotations

import shlex
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

from ...errors import GroundupError

# First, because ssh uses the first of several values. No shared connection, because it would outlive this run.
_OURS = (
    "-N", "-T", "-o", "ControlMaster=no", "-o", "ControlPath=none", "-o", "ControlPersist=no", "-o", "BatchMode=yes",
    "-o", "ExitOnForwardFailure=yes", "-o", "Compression=no", "-o", "LogLevel=ERROR",
)  # fmt: skip


def ssh_command(option: Callable[[str], Any], *, transport: str) -> list[str]:
    """Return the ssh command with the options of Ansible's connection. Raises GroundupError unless it is ssh."""
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
def tunnel(ssh: Sequence[str], *targets: str, seconds: float = 60) -> Iterator[tuple[str, ...]]:
    """Forward a local port to each of ``targets`` on the host of ``ssh``, and yield the local ``address:port`` of each.

    Raises GroundupError when the tunnel is not up within ``seconds``. Does not check whether the targets answer.
    """
    with ExitStack() as stack, tempfile.TemporaryFile() as output:
        here = tuple(stack.enter_context(_kept_port()) for _ in targets)
        forwards = [word for pair in zip(here, targets, strict=True) for word in ("-L", ":".join(pair))]
        # setpriv: ssh is terminated when this process ends for any reason.
        command = ["setpriv", "--pdeathsig", "TERM", ssh[0], *_OURS, *forwards, *ssh[1:]]
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output)
        try:
            deadline = time.monotonic() + seconds
            while not all(_listens(address) for address in here):
                if process.poll() is not None or time.monotonic() > deadline:
                    output.seek(0)
                    raise _no_way(ssh[-1], output.read().decode(errors="replace").strip())
                time.sleep(0.05)
            yield here
        finally:
            process.terminate()
            process.wait()


@contextmanager
def _kept_port() -> Iterator[str]:
    """Reserve a local port: the kernel assigns it to no other program, but ssh can bind it explicitly."""
    with socket.socket() as kept:
        kept.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        kept.bind(("127.0.0.1", 0))
        yield f"127.0.0.1:{kept.getsockname()[1]}"


def _listens(address: str) -> bool:
    host, _, port = address.partition(":")
    with suppress(OSError), socket.create_connection((host, int(port)), timeout=5):
        return True
    return False


def _no_way(host: str, fault: str) -> GroundupError:
    return GroundupError(
        f"no tunnel to {host}: {fault or 'ssh forwards nothing'}",
        where=f"{host}, through ssh",
        why="the site's registry takes images at its own loopback only",
        remedy="its sshd must allow TCP forwarding; see journalctl -u ssh on the seed",
    )
