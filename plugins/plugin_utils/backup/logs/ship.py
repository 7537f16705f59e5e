"""Follow the binary logs of one member, and keep what they get as sealed pieces, seconds later.

A program in the member's container sends what its logs have beyond the last piece, until it is ended. It goes on only
where the member has the very bytes of that piece: a volume that was copied or restored has other logs, and a new stream
begins, which says why.
"""

from __future__ import annotations

import hashlib
import struct
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime

from ...errors import GroundupError
from ...kube.piped import Container
from ...vault import Store
from ..sets import mariadb
from ..shelf import STAMP
from .disk import LogShelf, Piece, Stream

PIECE = 16 << 20  # bytes from which a piece is written before its time
PATIENCE = 600.0  # seconds that the member of a stream may be away until another's logs are followed
_REKEYED = "the password of the secrets store changed: take a new set"
_PAUSE = 5.0  # seconds between two tries
_GONE = 7
HEADER, _LENGTH = 19, struct.Struct("<I")
MAGIC = b"\xfebin"
# Base name of the logs, the log to go on with ("": the first), begin and end of its last piece, their SHA-256, seconds
# between two looks, most bytes at once. It says: "data LOG START SIZE" with the bytes, "next LOG", "now".
FOLLOW = """\
set -euo pipefail
base=$1 log=$2 start=$3 end=$4 digest=$5 pause=$6 most=$7 dir=${1%/*} misses=0
cut() { dd if="$dir/$1" iflag=skip_bytes,count_bytes,fullblock skip=$2 count=$3 bs=256K status=none; }
if [ "$log" ]; then
  [ -f "$dir/$log" ] && [ "$(stat -c %s "$dir/$log")" -ge "$end" ] || exit 7
  found=$(cut "$log" "$start" $((end - start)) | sha256sum)
  [ "${found%% *}" = "$digest" ] || exit 7
else
  read -r log < "$base.index"; log=${log##*/} end=0
fi
while :; do
  seen= next=
  while read -r one; do
    one=${one##*/}
    if [ "$seen" ]; then next=$one; break; fi
    if [ "$one" = "$log" ]; then seen=1; fi
  done < "$base.index"
  if [ ! "$seen" ]; then  # the server writes the index anew when it removes logs
    misses=$((misses + 1)); [ $misses -lt 5 ] || exit 7
    sleep 1; continue
  fi
  misses=0 size=$(stat -c %s "$dir/$log") || exit 7
  [ "$size" -ge "$end" ] || exit 7
  number=$((size - end)); [ $number -le "$most" ] || number=$most
  if [ $number -gt 0 ]; then
    echo "data $log $end $number"
    cut "$log" "$end" $number
    end=$((end + number))
  fi
  [ "$end" = "$size" ] || continue
  if [ "$next" ]; then echo "next $next"; log=$next end=0; continue; fi
  echo now
  sleep "$pause"
done
"""


class Frames:
    """What the program in the container says, as it comes. ``give``: LOG, START, bytes; ``tell``: the other words."""

    def __init__(self, give: Callable[[str, int, bytes], object], tell: Callable[[list[str]], object]) -> None:
        """Begin before the first word."""
        self._give, self._tell, self._line = give, tell, bytearray()
        self._log, self._at, self._left = "", 0, 0

    def feed(self, data: bytes) -> None:
        """Take more of it. Raises ValueError for what is not understood."""
        place = 0
        while place < len(data):
            if self._left:
                part = data[place : place + self._left]
                self._give(self._log, self._at, part)
                self._at, self._left, place = self._at + len(part), self._left - len(part), place + len(part)
                continue
            end = data.find(b"\n", place)
            self._line += data[place : end if end >= 0 else len(data)]
            if end < 0:
                return
            words, place = self._line.decode("ascii").split(), end + 1
            self._line.clear()
            if words[0] == "data":
                self._log, self._at, self._left = words[1], int(words[2]), int(words[3])
            else:
                self._tell(words)


@dataclass(slots=True)
class Events:
    """Bytes of a log that are not in a piece yet; ``whole`` of them are whole events."""

    start: int = 0  # in the log
    data: bytearray = field(default_factory=bytearray)
    whole: int = 0

    def add(self, data: bytes) -> None:
        """Add bytes. Raises ValueError when they are no log."""
        self.data += data
        if self.start == self.whole == 0 and len(self.data) >= len(MAGIC):
            if not self.data.startswith(MAGIC):
                raise ValueError("it is no binary log, or an encrypted one")
            self.whole = len(MAGIC)
        while self.whole + HEADER <= len(self.data):
            length = _LENGTH.unpack_from(self.data, self.whole + 9)[0]
            if length < HEADER:
                raise ValueError(f"no event begins at byte {self.start + self.whole}")
            if self.whole + length > len(self.data):
                return
            self.whole += length

    def take(self) -> bytes:
        """Return the whole events, and keep the rest."""
        found = bytes(self.data[: self.whole])
        del self.data[: self.whole]
        self.start, self.whole = self.start + len(found), 0
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A member. ``history``: id of its Galera cluster."""

    member: str
    container: Container
    base: str
    history: str


def source(member: str, container: Container) -> Source:
    """Ask a member for its logs. Raises GroundupError when it writes none."""
    if not (base := mariadb.logs(container)):
        raise GroundupError(
            "MariaDB writes no binary logs", where=container.name,
            why="what is committed between two sets is lost with the databases",
            remedy="run the playbook groundup.cloud.openstack: the built-in chart turns them on (log_bin)",
        )  # fmt: skip
    return Source(member=member, container=container, base=base, history=mariadb.history(container))


class Shipper:
    """Follows the logs of one member after another.

    ``choose``: return the pod and container of a member, if possible of the one it is given. ``copied``: called after
    each look, with the stream; what it returns is kept beside the time.
    """

    def __init__(self, shelf: LogShelf, *, site: str, store: Store, every: float,
                 choose: Callable[[str], tuple[str, Container]], say: Callable[[str], object],
                 copied: Callable[[Stream], dict[str, str]] = lambda _: {}) -> None:  # fmt: skip
        """Read the newest stream. Raises GroundupError."""
        self._shelf, self._site, self._store, self._every = shelf, site, store, every
        self._choose, self._say, self._copied = choose, say, copied
        self._stream, self._seen = shelf.newest(), time.monotonic()
        self._events, self._log, self._number, self._key = Events(), "", 0, b""
        self._unmerged = set[str]()  # logs with a piece that cannot be read

    def ship(self, *, until: Callable[[], bool] = lambda: False) -> None:
        """Follow logs until ``until`` says so, which is asked after each look. Raises OSError, ValueError."""
        while not until():
            try:
                self._follow(self._next(), until)
            except _EnoughError:
                continue
            except GroundupError as error:  # the connection, or the member, is gone for a moment
                self._say(f"binary logs: {error.what} ({error.where})")
                time.sleep(_PAUSE)

    def _next(self) -> Source:
        """Return the member to follow: the stream's, or after `PATIENCE` without it another. Raises GroundupError."""
        mine = self._stream.about.member if self._stream else ""
        pod, container = self._choose(mine)
        if mine and pod != mine and time.monotonic() - self._seen < PATIENCE:
            raise GroundupError(
                f"{mine} does not answer, whose logs are copied", where=container.name,
                why="the logs of another member do not go on where its end", remedy="wait until it is back",
            )  # fmt: skip
        found = source(pod, container)
        if self._stream and pod != mine:
            self._end(found, f"{mine} was away for {PATIENCE:.0f} s")
        elif self._stream and found.history != self._stream.about.history:
            self._end(found, f"{pod} is of another cluster now: the databases were restored, or made anew")
        return found

    def _end(self, found: Source, why: str) -> Stream:
        """Begin a new stream, and return it."""
        if why:
            self._say(f"binary logs: a new stream begins, no set before it has logs from here on: {why}")
        self._stream = self._shelf.begin(
            site=self._site, store=self._store, member=found.member, history=found.history, why=why
        )
        return self._stream

    def _follow(self, found: Source, until: Callable[[], bool]) -> None:
        stream = self._stream or self._end(found, "")
        stream.tidy()
        written = self._written()
        if not stream.current(self._store):  # who has a password that leaked reads nothing from here on
            self._end(found, _REKEYED)
            return
        self._key, pieces = stream.key(self._store), stream.pieces()
        last = pieces[-1] if pieces else None
        try:
            stream.checked(pieces)
            start, digest = self._known(stream, last)
        except GroundupError as error:
            self._end(found, f"what was copied is damaged: {error.what}")
            return
        self._log, self._number = (last.log, last.last) if last else ("", 0)
        self._events = Events(start=last.end if last else 0)

        def tell(words: list[str]) -> None:
            self._told(stream, words)
            if words[0] == "now" and (until() or self._written() != written):
                raise _EnoughError

        frames = Frames(lambda log, start, data: self._got(stream, log, start, data), tell)
        argv = ["bash", "-c", FOLLOW, "follow", found.base, self._log, str(start), str(last.end if last else 0), digest]
        done = found.container.run([*argv, f"{self._every:g}", str(PIECE)], sink=frames.feed)
        if done.code == _GONE:
            self._end(found, f"{found.member} has not the log {self._log} any more as it was copied")
            return
        raise GroundupError(
            f"the copy of the binary logs ended: {done.stderr.strip()[-300:] or f'code {done.code}'}",
            where=found.container.name, why="what is committed from now on is copied later",
            remedy="it begins again by itself",
        )  # fmt: skip

    def _written(self) -> list[int]:
        """Return what changes with the password."""
        return [one.stat().st_mtime_ns for one in (self._store.path, self._store.source.path) if one.exists()]

    def _known(self, stream: Stream, last: Piece | None) -> tuple[int, str]:
        """Return where the bytes begin that the member has to have, and their digest."""
        if not last:
            return 0, "-"
        start, digest, place = max(last.start, mariadb.MARK), hashlib.sha256(), last.start
        for data in stream.content(last, self._key):
            digest.update(data[max(start - place, 0) :])
            place += len(data)
        return start, digest.hexdigest()

    def _got(self, stream: Stream, log: str, start: int, data: bytes) -> None:
        self._log = self._log or log
        events = self._events
        if log != self._log or start != events.start + len(events.data):
            raise ValueError(f"{log} goes on at byte {start}, not {self._log} at {events.start + len(events.data)}")
        events.add(data)
        if events.whole >= PIECE:
            self._write(stream)

    def _told(self, stream: Stream, words: list[str]) -> None:
        self._write(stream)
        if words[0] == "next":  # a rest is of a server that was killed: nobody committed it
            self._merge(stream, closed=True)
            self._log, self._events = words[1], Events()
            return
        self._merge(stream, closed=False)
        self._seen, now = time.monotonic(), datetime.now(UTC)
        stream.seen(self._number, now, **self._copied(stream))

    def _merge(self, stream: Stream, *, closed: bool) -> None:
        """Merge pieces, once a number is reached. One that cannot be read stops no copy: verification names it."""
        if self._log in self._unmerged:
            return
        try:
            stream.merge(self._log, self._key, closed=closed)
        except (GroundupError, OSError) as error:
            self._unmerged.add(self._log)
            self._say(f"binary logs: pieces of {self._log} stay as they are: {error}")

    def _write(self, stream: Stream) -> None:
        if self._events.start + self._events.whole <= mariadb.MARK:  # not even its first event
            return
        start, data = self._events.start, self._events.take()
        if not data:
            return
        number = self._number + 1
        piece = Piece(
            first=number, last=number, log=self._log, start=start, end=start + len(data),
            time=datetime.now(UTC).strftime(STAMP),
        )  # fmt: skip
        stream.add(piece, [data], self._key)
        self._number = number


class _EnoughError(Exception):
    """The time is over, or the secrets store was written anew."""
