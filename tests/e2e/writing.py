"""A client that writes to a volume all the time, and knows of every block that Ceph said was written."""

from __future__ import annotations

import json
import shlex
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

Run = Callable[[str], Sequence[str]]  # a program of Python's: the command that runs it where clients are
# On a storage host, by a service's key, which comes on standard input.
CONNECT = r"""
import hashlib, json, os, select, sys, time
import rados, rbd
given = json.loads(sys.stdin.readline())
cluster = rados.Rados(name=given["name"], conf={"mon_host": given["mon_host"], "key": given["key"]})
cluster.connect(timeout=60)
"""
_LIST = r"""
found = {}
for pool in given["pools"]:
    with cluster.open_ioctx(pool) as data:
        try:
            found[pool] = rbd.RBD().list(data)
        except rbd.PermissionError:
            found[pool] = None
print(json.dumps(found))
"""
# One block after the other, each read back at the end.
_WRITE = r"""
data = cluster.open_ioctx(given["pool"])
size, block, written, slowest = 1 << 30, 1 << 16, {}, 0.0
rbd.RBD().create(data, given["image"], size)
with rbd.Image(data, given["image"]) as image:
    number = 0
    while not select.select([sys.stdin], [], [], 0)[0]:
        content = os.urandom(block)
        began = time.monotonic()
        image.write(content, number % (size // block) * block)
        image.flush()
        slowest = max(slowest, time.monotonic() - began)
        written[number % (size // block)] = hashlib.sha256(content).hexdigest()
        number += 1
        print(number, flush=True)
with rbd.Image(data, given["image"]) as image:
    wrong = [at for at, said in written.items() if hashlib.sha256(image.read(at * block, block)).hexdigest() != said]
rbd.RBD().remove(data, given["image"])
print(json.dumps({"blocks": number, "lost": len(wrong), "slowest": round(slowest, 1)}), flush=True)
"""


@dataclass
class Writer:
    """What a client has written so far, and at its end what it read back."""

    process: subprocess.Popen[str]
    blocks: int = 0
    lost: int = -1
    slowest: float = 0.0  # seconds that one block took

    def more(self, blocks: int) -> None:
        """Wait until so many more blocks are written. Fails when the client ends."""
        assert self.process.stdout
        goal = self.blocks + blocks
        while self.blocks < goal:
            line = self.process.stdout.readline()
            assert line, "the client ended: " + (self.process.stderr.read() if self.process.stderr else "")
            self.blocks = int(line)

    def end(self) -> None:
        """Have it read everything back."""
        said, errors = self.process.communicate("end\n", timeout=300)
        assert self.process.returncode == 0, errors
        found = json.loads(said.splitlines()[-1])
        self.blocks, self.lost, self.slowest = found["blocks"], found["lost"], found["slowest"]


def over_ssh(ssh_config: Path, address: str) -> Run:
    """Return how a program is run on a host as root."""
    return lambda program: [
        "ssh", "-F", str(ssh_config), address, "sudo", "python3", "-c", shlex.quote(program),
    ]  # fmt: skip


@contextmanager
def writing(run: Run, given: Mapping[str, object]) -> Iterator[Writer]:
    """Write by a client while the block runs; what it lost is known after `Writer.end`."""
    with client(run, _WRITE, given) as process:
        try:
            yield Writer(process)
        finally:
            process.kill()


def listed(run: Run, given: Mapping[str, object]) -> dict[str, list[str] | None]:
    """Return the images in each of the pools that a client sees; None: it may not look."""
    with client(run, _LIST, given) as process:
        said, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    found: dict[str, list[str] | None] = json.loads(said)
    return found


def client(run: Run, program: str, given: Mapping[str, object]) -> subprocess.Popen[str]:
    """Start a client that connects as ``given`` says and goes on with ``program``."""
    pipe = subprocess.PIPE
    process = subprocess.Popen(run(CONNECT + program), stdin=pipe, stdout=pipe, stderr=pipe, text=True)
    assert process.stdin
    process.stdin.write(json.dumps(given) + "\n")
    process.stdin.flush()
    return process
