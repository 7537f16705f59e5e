"""A volume whose hypervisor died with its lock: the next client fences the dead one, which cannot write any more.

The clients are librbd, as in QEMU; they have the rights of Cinder's key in the plan.
"""

from __future__ import annotations

import errno
import hashlib
import json
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from ansible_collections.groundup.cloud.tests.e2e.waiting import until
from ansible_collections.groundup.cloud.tests.e2e.writing import client

from .clients import POOL, cinder, clean, inside
from .loopback import PATIENCE, Loopback

pytestmark = pytest.mark.long  # they wait for Ceph's own limits

DISK = "disk"
# Writes a byte over a block, or reads one, as it is told, a line each.
_INSTANCE = r"""
print(os.getpid(), flush=True)
image = rbd.Image(cluster.open_ioctx(given["pool"]), given["image"])
for line in sys.stdin:
    verb, number, byte = line.split()
    try:
        if verb == "write":
            image.write(bytes([int(byte)]) * 65536, int(number) * 65536)
            image.flush()
            print("written", flush=True)
        else:
            print(hashlib.sha256(image.read(int(number) * 65536, 65536)).hexdigest(), flush=True)
    except Exception as error:
        print("refused", getattr(error, "errno", error), flush=True)
os._exit(0)  # nothing is closed: who is fenced waits for ever for its last words
"""


class Instance:
    """A client that has the volume open."""

    def __init__(self, ceph: Loopback, process: subprocess.Popen[str]) -> None:
        self._ceph, self.process = ceph, process
        self.pid = self._answer()

    def signal(self, name: str) -> None:
        """Send its process a signal."""
        self._ceph.run('kill -"$1" "$2"', name, self.pid)

    def write(self, number: int, byte: int) -> str:
        """Fill a block with a byte; return what became of it."""
        self.begin(number, byte)
        return self._answer()

    def begin(self, number: int, byte: int) -> None:
        """Have it write, and do not wait."""
        self._tell(f"write {number} {byte}")

    def has(self, number: int, byte: int) -> bool:
        """Say whether a block is filled with a byte."""
        self._tell(f"read {number} 0")
        return self._answer() == hashlib.sha256(bytes([byte]) * 65536).hexdigest()

    def _tell(self, line: str) -> None:
        assert self.process.stdin
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def _answer(self) -> str:
        assert self.process.stdout
        assert self.process.stderr
        line = self.process.stdout.readline().strip()
        assert line, "the client ended: " + self.process.stderr.read()
        return line


@contextmanager
def instance(ceph: Loopback) -> Iterator[Instance]:
    """Open the volume by a client."""
    with client(inside(ceph), _INSTANCE, {**cinder(ceph), "image": DISK}) as process:
        one = Instance(ceph, process)
        try:
            yield one
        finally:
            ceph.run('kill -KILL "$1" 2> /dev/null || :', one.pid)
            process.send_signal(signal.SIGCONT)  # nsenter stops with what it runs


@pytest.fixture(scope="module")
def volume(ceph: Loopback) -> Loopback:
    """The cluster with a volume."""
    ceph.run(
        'ceph osd pool create "$1" 8; ceph osd pool application enable "$1" rbd; rbd create --size 64M "$1/$2"',
        POOL, DISK,
    )  # fmt: skip
    until(lambda: clean(ceph), seconds=PATIENCE)
    features = json.loads(ceph.run('rbd info --format json "$1/$2"', POOL, DISK))["features"]
    assert "exclusive-lock" in features
    return ceph


def fenced(ceph: Loopback) -> set[str]:
    """Return the clients that may not write."""
    return {line.split()[0] for line in ceph.run("ceph osd blocklist ls 2> /dev/null").splitlines() if line}


def changes(ceph: Loopback, *, fenced: bool) -> list[str]:
    """Have the module of playbook `evacuate` fence, or let in again; return what it did."""
    said = ceph.administered("_ceph.fence.fence", addresses=["127.0.0.1"], fenced=fenced)
    assert "error" not in said, said["error"]
    return list(said["changes"])


def locker(ceph: Loopback) -> str:
    """Return the address of the client that has the volume's lock."""
    found = json.loads(ceph.run('rbd lock ls --format json "$1/$2"', POOL, DISK))
    return str(found[0]["address"]) if found else ""


@pytest.mark.parametrize("how", ["STOP", "KILL"])
def test_the_next_client_takes_the_lock_of_a_dead_one_which_cannot_write_when_it_comes_back(
    volume: Loopback, how: str, capfd: pytest.CaptureFixture[str]
) -> None:
    with instance(volume) as dead, instance(volume) as alive:
        assert dead.write(0, 1) == "written"
        assert locker(volume)
        address = locker(volume)
        dead.signal(how)
        began = time.monotonic()
        assert alive.write(0, 2) == "written"
        with capfd.disabled():
            print(
                "\n"
                + json.dumps({"case": f"lock of a client after {how}", "seconds": round(time.monotonic() - began, 1)})
            )
        assert address in fenced(volume)
        assert locker(volume) not in ("", address)
        if how == "STOP":
            dead.signal("CONT")
            assert dead.write(0, 3) == f"refused {errno.ESHUTDOWN}"
        assert alive.has(0, 2)
        assert alive.write(1, 4) == "written", "nobody takes its lock"
    with instance(volume) as again:
        assert again.has(0, 2)
        assert again.write(0, 5) == "written", "who starts anew is another client, and not fenced"


def watching(ceph: Loopback) -> list[str]:
    """Return the addresses of those that have the volume open, as the playbook hypervisor_failure asks."""
    found: dict[str, list[str]] = ceph.administered("_ceph.watchers.watchers", disks={POOL: [DISK, "none"]})["result"]
    assert set(found) == {DISK}
    return found[DISK]


def test_ceph_knows_an_instance_that_lives_until_it_dies(volume: Loopback) -> None:
    with instance(volume) as one:
        assert one.write(3, 1) == "written"
        assert watching(volume) == ["127.0.0.1"]
        one.signal("KILL")
        until(lambda: watching(volume) == [], seconds=PATIENCE)


def test_a_hypervisor_that_nobody_reaches_is_fenced_by_its_address_and_released_again(volume: Loopback) -> None:
    # Last: all are at one address here, and the manager is fenced, too.
    with instance(volume) as lost:
        assert lost.write(2, 1) == "written"
        assert changes(volume, fenced=True) == ["forbid clients at 127.0.0.1 to use Ceph"]
        assert changes(volume, fenced=True) == []
        until(lambda: lost.write(2, 2) == f"refused {errno.ESHUTDOWN}", seconds=PATIENCE)  # the OSDs heard of it
    assert changes(volume, fenced=False) == ["let clients at 127.0.0.1 use Ceph again"]
    with instance(volume) as again:
        until(lambda: again.write(2, 3) == "written", seconds=PATIENCE)
        assert again.has(2, 3)
