"""The restore test of a set: each part is opened; etcd and MariaDB are restored into scratch processes and counted.

It proves that the set restores to what it says; it touches nothing that runs. A part that cannot be tested here is told
as "not run", never as good.
"""

from __future__ import annotations

import tarfile
import time
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, ExitStack
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Literal

from ...errors import GroundupError
from ...kube.client import ApiError
from ...kube.piped import Container
from ...plan.types import Plan
from ...vault import Store
from . import etcd, handed, mariadb, rabbitmq, scratch_etcd, service_keys, state
from .disk import SetBackup, SetShelf
from .parts import CEPH, ETCD, KEYS, MARIADB, OVN, RABBITMQ, SEED, SERVICE_KEYS, STATE

State = Literal["ok", "damaged", "not run"]
# In the scratch container: size of the stream, which has no end of its own; statements; a writable directory.
SCRIPT = """\
set -euo pipefail
cd "$3"
rm -rf data; mkdir data
# Ends with the step's code; with its own when somebody killed the program.
ends() { case $2 in 137|143) exit "$2" ;; *) exit "$1" ;; esac; }
head -c "$1" | { mbstream -x -C data || { code=$?; cat >/dev/null; ends 2 $code; }; }
mariadb-backup --prepare --use-memory=64M --target-dir=data >prepare.log 2>&1 ||
  { code=$?; tail -n 3 prepare.log >&2; ends 3 $code; }
mariadbd --defaults-file=data/backup-my.cnf --datadir="$3/data" --socket="$3/socket" --pid-file="$3/pid" --tmpdir=/tmp \
  --skip-grant-tables --skip-networking --wsrep-on=OFF --innodb-buffer-pool-size=64M >server.log 2>&1 &
server=$!
until mariadb-admin --no-defaults --socket="$3/socket" ping >/dev/null 2>&1; do
  kill -0 $server 2>/dev/null ||
    { code=0; wait $server || code=$?; grep -i error server.log | tail -n 3 >&2 || :; ends 4 $code; }
  sleep 0.2
done
mariadb --no-defaults --socket="$3/socket" --batch --skip-column-names --execute="$2"
mariadb-admin --no-defaults --socket="$3/socket" shutdown
wait $server
"""
_KILLED = (137, 143)  # SIGKILL, as for memory, and SIGTERM: damaged data are nobody's reason for them
NO_ROOM = "No space left on device"


@dataclass(frozen=True, slots=True, kw_only=True)
class PartTested:
    """Outcome for one part."""

    state: State
    what: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreTest:
    """Outcome of one test."""

    time: str
    seconds: float
    parts: dict[str, PartTested]

    @property
    def state(self) -> State:
        """Return the worst state of all parts."""
        states = {part.state for part in self.parts.values()}
        return "damaged" if "damaged" in states else "not run" if "not run" in states or not states else "ok"

    def plain(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {"state": self.state, **asdict(self)}


class ReadTest:
    """Tests one set. ``container``: yields where MariaDB's part is restored, as a context manager."""

    def __init__(self, plan: Plan, shelf: SetShelf, backup: SetBackup, place: Path, *, store: Store,
                 container: Callable[[], AbstractContextManager[Container]], home: str) -> None:  # fmt: skip
        """Take the set, and where to restore to; ``home``: writable directory in the container."""
        self._shelf, self._backup, self._place, self._store = shelf, backup, place, store
        self._plan, self._container, self._home = plan, container, home
        self._sealed: list[tuple[str, str]] | None = None  # of the databases, once they are restored

    def run(self) -> RestoreTest:
        """Test all parts of the set; no failure of one ends the others."""
        started, now = time.monotonic(), datetime.now(UTC)
        tests: dict[str, Callable[[], tuple[list[str], str]]] = {
            **{part: partial(self._handed, part) for part in (KEYS, OVN, SEED, CEPH)}, STATE: self._state,
            ETCD: self._etcd, RABBITMQ: self._rabbitmq, MARIADB: self._mariadb, SERVICE_KEYS: self._service_keys,
        }  # fmt: skip
        found = {part: self._tested(test) for part, test in tests.items() if part in self._backup.parts}
        seconds = round(time.monotonic() - started, 1)
        return RestoreTest(time=now.isoformat(timespec="seconds"), seconds=seconds, parts=found)

    def _tested(self, test: Callable[[], tuple[list[str], str]]) -> PartTested:
        try:
            faults, told = test()
        except NotRunError as error:
            return PartTested(state="not run", what=str(error))
        except ApiError as error:
            return PartTested(state="not run", what=f"{error.message} ({error.where})")
        except (GroundupError, tarfile.TarError, OSError, EOFError) as error:
            return PartTested(state="damaged", what=error.what if isinstance(error, GroundupError) else str(error))
        shown = "; ".join(faults[:5]) + (f"; and {len(faults) - 5} more" if len(faults) > 5 else "")
        return PartTested(state="damaged" if faults else "ok", what=shown or told)

    def _pieces(self, part: str) -> Iterable[bytes]:
        return self._shelf.content(self._backup, self._place, part, store=self._store)

    def _handed(self, part: str) -> tuple[list[str], str]:
        return handed.judge(self._plan, part, self._backup.parts[part], self._pieces(part))

    def _state(self) -> tuple[list[str], str]:
        found = state.names(self._pieces(STATE))
        return state.judge(state.NEEDED, self._backup.parts[STATE], found), f"{len(found)} files"

    def _rabbitmq(self) -> tuple[list[str], str]:
        return rabbitmq.judge(self._backup.parts[RABBITMQ], b"".join(self._pieces(RABBITMQ)))

    def _service_keys(self) -> tuple[list[str], str]:
        text = b"".join(self._pieces(SERVICE_KEYS))
        return service_keys.judge(self._backup.parts[SERVICE_KEYS], text, self._sealed)

    def _etcd(self) -> tuple[list[str], str]:
        if reason := scratch_etcd.lacking():
            raise NotRunError(reason)
        found = scratch_etcd.restored(self._backup.site, self._pieces(ETCD), size=self._backup.parts[ETCD]["size"])
        return etcd.judge(self._backup.parts[ETCD], found), f"{found['keys']} keys at revision {found['revision']}"

    def _mariadb(self) -> tuple[list[str], str]:
        about = self._backup.parts[MARIADB]
        with ExitStack() as stack:
            try:
                container = stack.enter_context(self._container())
            except GroundupError as error:
                raise NotRunError(f"{error.what} ({error.where})") from error
            found = restored(container, self._pieces(MARIADB), size=about["size"], home=self._home)
        self._sealed = found.sealed
        told = f"{len({one.partition('.')[0] for one in found.rows})} databases, {sum(found.rows.values())} rows"
        return mariadb.judge(about, found), told


class NotRunError(Exception):
    """A part cannot be tested here."""


def restored(container: Container, pieces: Iterable[bytes], *, size: int, home: str) -> mariadb.Contents:
    """Restore MariaDB's part in a container; return what it holds. Raises GroundupError, NotRunError."""
    argv = ("bash", "-c", SCRIPT, "restore", str(size), mariadb.CONTENT, home)
    done = container.run(argv, source=pieces)
    said = " | ".join(done.stderr.strip().splitlines()[-3:])[-400:]
    if NO_ROOM in said:
        raise NotRunError(f"{container.name} has no room for {size} bytes: {said}")
    if done.code in _KILLED:
        raise NotRunError(f"{container.name}: it was killed, code {done.code}: {said}")
    if done.code:
        step = {
            2: "its stream does not unpack",
            3: "mariadb-backup cannot prepare it",
            4: "MariaDB does not start with it",
        }.get(done.code, "no copy")
        raise _unrestored(f"{step}: {said or f'code {done.code}'}", where=container.name)
    try:
        return mariadb.parse(done.stdout)
    except ValueError as error:
        raise _unrestored(f"its tables cannot be counted: {error}", where=container.name) from error


def _unrestored(what: str, *, where: str) -> GroundupError:
    return GroundupError(
        f"MariaDB's part does not restore: {what}", where=where, why="the cloud's databases could not be had from it",
        remedy="take a new set with the playbook groundup.cloud.backup; use an older one meanwhile",
    )  # fmt: skip
