"""etcd restored for a test: a process of one member on this machine, reached by a socket file that only we may open."""

from __future__ import annotations

import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ....module_utils._base.locks import locked
from ....module_utils._base.wait import wait_until
from ... import supply
from ...errors import GroundupError
from ...paths import state_dir
from .etcd import EtcdConnection

ARTIFACT = "etcd-programs"
_MEMORY = Path("/dev/shm")  # noqa: S108 - a directory of ours in it: what is unsealed for a test is on no disk
_ROOM = 3, 256 << 20  # a copy beside the snapshot and growth; etcd's log
_START = 60.0  # seconds
_NAME, _PEER = "scratch", "http://scratch.invalid:1"  # nobody's
_SOCKETS = {"client": "client:1", "peer": "peer:1"}  # etcd wants host:port, and makes files of these names


def lacking() -> str:
    """Return why etcd cannot be restored on this machine, "" when it can. Nothing is built for a test."""
    try:
        missing = supply.missing([ARTIFACT])
    except GroundupError as error:
        return f"etcd's programs are not here: {error.what}"
    return (
        f"the cache of this machine lacks {', '.join(missing)}: run the playbook groundup.cloud.supply"
        if missing
        else ""
    )


def restored(site: str, pieces: Iterable[bytes], *, size: int) -> dict[str, Any]:
    """Restore a snapshot and return the state of the etcd that has it. Raises GroundupError when it does not."""
    programs = supply.ensure([ARTIFACT])[ARTIFACT].path
    with unsealed(site, pieces, size=size) as snapshot:
        place = snapshot.parent
        argv = [
            str(programs / "etcdutl"), "snapshot", "restore", snapshot.name, "--data-dir=data", f"--name={_NAME}",
            f"--initial-cluster={_NAME}={_PEER}", f"--initial-advertise-peer-urls={_PEER}",
        ]  # fmt: skip
        done = subprocess.run(argv, cwd=place, capture_output=True, text=True, check=False)
        if done.returncode:
            raise _unrestored(f"etcdutl: {_last(done.stderr)}")
        snapshot.unlink()
        return _state(programs / "etcd", place)


def _state(program: Path, place: Path) -> dict[str, Any]:
    log = place / "log"
    argv = [
        "setpriv", "--pdeathsig", "KILL", "--", str(program), "--data-dir=data", f"--name={_NAME}",
        *(f"--{one}-client-urls=unix://{_SOCKETS['client']}" for one in ("listen", "advertise")),
        f"--listen-peer-urls=unix://{_SOCKETS['peer']}", f"--initial-cluster={_NAME}={_PEER}",
        f"--initial-advertise-peer-urls={_PEER}", "--unsafe-no-fsync",
    ]  # fmt: skip
    with log.open("wb") as out, subprocess.Popen(argv, cwd=place, stdout=out, stderr=out) as process:
        try:
            found: dict[str, Any] = {}
            why: list[str] = ["it has not begun"]

            def waits() -> bool:
                try:
                    with socket.socket(socket.AF_UNIX) as connection:
                        connection.settimeout(5.0)
                        connection.connect(f"/proc/{process.pid}/cwd/{_SOCKETS['client']}")  # any path: a short one
                        found.update(EtcdConnection(connection, where="the scratch etcd").state())
                except (OSError, GroundupError) as error:
                    why[:] = [str(error)]
                    return process.poll() is None
                return False

            wait_until(waits, timeout=_START, pause=0.1)
            if not found:
                raise _unrestored(f"etcd does not start with it: {_last(log.read_text(errors='replace')) or why[0]}")
            return found
        finally:
            process.kill()


@contextmanager
def unsealed(site: str, pieces: Iterable[bytes], *, size: int) -> Iterator[Path]:
    """Yield a file with ``pieces``, alone in a directory of ours, in memory when there is room."""
    with _scratch(site, size) as place:
        snapshot = place / "snapshot.db"
        with snapshot.open("wb") as stream:
            for piece in pieces:
                stream.write(piece)
        yield snapshot


@contextmanager
def _scratch(site: str, size: int) -> Iterator[Path]:
    """Yield a directory of ours, removed afterwards; remove those of killed tests."""
    own, (times, more) = state_dir(site), _ROOM
    prefix = f"groundup-restore-{site}-"
    with locked(own / ".restore-test.lock"):
        for home in (_MEMORY, own):
            for left in home.glob(f"{prefix}*") if home.is_dir() else ():
                if left.owner() == own.owner():
                    shutil.rmtree(left)
        memory = _MEMORY.is_dir() and shutil.disk_usage(_MEMORY).free > size * times + more
        place = Path(tempfile.mkdtemp(prefix=prefix, dir=_MEMORY if memory else own))
        try:
            yield place
        finally:
            shutil.rmtree(place)


def _last(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][-300:] if lines else ""


def _unrestored(what: str) -> GroundupError:
    return GroundupError(
        f"etcd's part does not restore: {what}", where="a scratch process on this machine",
        why="no cluster could be had from it",
        remedy="take a new set with the playbook groundup.cloud.backup; use an older one meanwhile",
    )  # fmt: skip
