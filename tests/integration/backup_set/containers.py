"""A container without a cluster: an image in namespaces, in which one program after another runs."""

from __future__ import annotations

import ctypes
import os
import socket
import subprocess
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from ansible_collections.groundup.cloud.plugins.module_utils._base.wait import wait_until
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.client import Executed
from ansible_collections.groundup.cloud.tests.integration.images.conftest import Image

USER = 999  # mysql
_NET = 0x40000000  # CLONE_NEWNET


@dataclass(frozen=True)
class Namespaces:
    """The container; `run` is that of a pod's container."""

    name: str
    pid: int

    def run(
        self, argv: Sequence[str], *, source: Iterable[bytes] = (), sink: Callable[[bytes], object] | None = None
    ) -> Executed:
        enter = ["nsenter", f"--target={self.pid}", "--mount", "--pid", "--net", "--root", "--wdns=/"]
        enter += [f"--setuid={USER}", f"--setgid={USER}", "--"]
        out, err = bytearray(), bytearray()
        with subprocess.Popen(
            [*enter, *argv], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env={"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
        ) as process:  # fmt: skip
            assert process.stdin
            assert process.stdout
            assert process.stderr
            takes = threading.Thread(target=_copy, args=(process.stderr, err.extend))
            gives = threading.Thread(target=_feed, args=(process.stdin, source))
            takes.start()
            gives.start()
            _copy(process.stdout, sink or out.extend)
            takes.join()
            gives.join()
        return Executed(code=process.returncode, stdout=out.decode(), stderr=err.decode(errors="replace"))


def _copy(stream: object, sink: Callable[[bytes], object]) -> None:
    while data := stream.read1(1 << 16):  # type: ignore[attr-defined]
        sink(data)


def _feed(stream: object, source: Iterable[bytes]) -> None:
    with suppress(BrokenPipeError):
        for data in source:
            stream.write(data)  # type: ignore[attr-defined]
        stream.close()  # type: ignore[attr-defined]


@contextmanager
def container(image: Image, name: str, mounts: Mapping[str, Path]) -> Iterator[Namespaces]:
    """Yield a container of ``image`` that runs nothing yet."""
    argv = image.command(["sleep", "600"], uid=USER, mounts=mounts)
    with subprocess.Popen(["setpriv", "--pdeathsig", "KILL", "--", *argv]) as process:
        try:
            found: list[int] = []

            def waits() -> bool:
                found[:] = [pid for pid in _descendants(process.pid) if _is_sleep(pid)]
                return not found and process.poll() is None

            wait_until(waits, timeout=30, pause=0.05)
            assert found, f"the container of {name} ended with {process.poll()} before its program started"
            yield Namespaces(name, found[0])
        finally:
            process.kill()


def connected(found: Namespaces, port: int) -> closing[socket.socket]:
    """Return a connection to ``port`` in a container: its thread enters the network, and leaves it by ending."""
    made: list[socket.socket] = []

    def connect() -> None:
        with Path(f"/proc/{found.pid}/ns/net").open("rb") as place:
            assert ctypes.CDLL(None, use_errno=True).setns(place.fileno(), _NET) == 0, os.strerror(ctypes.get_errno())
        made.append(socket.create_connection(("127.0.0.1", port), timeout=120))

    thread = threading.Thread(target=connect)
    thread.start()
    thread.join()
    return closing(made[0])


def _descendants(pid: int) -> Iterator[int]:
    """Yield who ``pid`` started, who they started, and so on; who ends meanwhile has none."""
    with suppress(FileNotFoundError, ProcessLookupError):
        for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
            yield int(word)
            yield from _descendants(int(word))


def _is_sleep(pid: int) -> bool:
    with suppress(FileNotFoundError, ProcessLookupError):
        return Path(f"/proc/{pid}/comm").read_text() == "sleep\n"
    return False
