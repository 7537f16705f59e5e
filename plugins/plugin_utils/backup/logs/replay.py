"""The binary logs that follow a set, up to a time: which pieces, and what stands against them."""

from __future__ import annotations

import hashlib
import math
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from ...errors import GroundupError
from ...vault import Store
from ..sets.mariadb import MARK
from .disk import LogShelf, Piece, Stream
from .ship import HEADER, MAGIC

NONE = "set"  # of restore_until: the set alone
_CODE = "logs-gap"
_EVENT = struct.Struct("<I5xI")  # of its header: time, length


class GapError(GroundupError):
    """No logs follow the set."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogFile:
    """A log to replay, from byte ``start`` of it on."""

    name: str
    start: int
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """What follows a set. ``until``: None is all."""

    stream: Stream
    pieces: tuple[Piece, ...]
    files: tuple[LogFile, ...]
    until: datetime | None
    reaches: datetime  # until when all was copied

    def __str__(self) -> str:
        size = sum(one.size for one in self.files) - self.files[0].start
        return f"binary logs to {self.until or self.reaches:%Y-%m-%d %H:%M:%S} UTC ({size} bytes)"

    @property
    def stop(self) -> str:
        """Return the time as mariadb-binlog takes it, in UTC; "" for all."""
        return f"{self.until:%Y-%m-%d %H:%M:%S}" if self.until else ""

    def content(self, store: Store) -> Iterator[bytes]:
        """Yield the bytes of all files. Raises GroundupError."""
        key = self.stream.key(store)
        for piece in self.pieces:
            yield from self.stream.content(piece, key)


def find(
    shelf: LogShelf, part: dict[str, Any], *, until: str, store: Store | None, expected: bool,
    begun: datetime | None = None,
) -> Replay | None:  # fmt: skip
    """Return what follows MariaDB's ``part`` of a set, None for nothing. With ``store``, every piece is opened.

    ``expected``: whether the site's logs are copied. ``until``: a time, NONE, or "" for all; without a time, logs that
    do not follow are refused, too, as one would not know what is lost. ``begun``: when a restore
    that goes on first ended the databases; streams of since then are of what it replaces, or has put there. Raises
    GroundupError by name.
    """
    if until == NONE:
        return None
    wanted, streams, anchor = _time(until), shelf.streams(), part.get("log")
    streams = [one for one in streams if begun is None or datetime.fromisoformat(one.about.began) <= begun]
    if not wanted and not (anchor and expected) and not (streams and (anchor or expected)):
        return None
    where = str(shelf.home)
    if not anchor:
        raise _refused("the set does not say where logs go on: there were none when it was made", where=where)
    member = end(part)[1]
    if not any(one.about.history == anchor["history"] for one in streams):
        told = ", ".join(sorted({one.about.history for one in streams})) or "none"
        raise _refused(
            f"the set is of the database {anchor['history']}, the logs are of {told}", where=where
        )  # fmt: skip
    begin = datetime.fromisoformat(anchor.get("at") or part["taken"])  # the copy has all that was committed until then
    own = [one for one in streams if one.about.history == anchor["history"] and one.about.member == member]
    fault: GroundupError | None = None
    for stream in reversed(own):  # the newest that serves; an older one may have ended because it was damaged
        after = [one for one in streams if one.name > stream.name and one.about.history == anchor["history"]]
        try:
            if found := _of_stream(stream, anchor, store, wanted):
                reaches = _reaches(stream, found, begin=begin, wanted=wanted, after=after)
                files = _files(found, anchor["position"])
                return Replay(stream=stream, pieces=tuple(found), files=files, until=wanted, reaches=reaches)
        except GroundupError as error:
            fault = fault or error
    if fault:
        raise fault
    there = [f"{one.about.member} from {pieces[0]}" for one in streams if (pieces := one.pieces())]
    raise _refused(
        f"no log follows the set: it ends in {anchor['file']} of {member}, at byte {anchor['position']}; there is "
        f"{'; '.join(there) or 'nothing'}", where=where,
    )  # fmt: skip


def end(part: dict[str, Any]) -> tuple[str, str, str]:
    """Return history, member and log that MariaDB's ``part`` of a set ends in."""
    return part["log"]["history"], part["source"].removeprefix("pod ").partition(",")[0], part["log"]["file"]


def _reaches(
    stream: Stream, found: list[Piece], *, begin: datetime, wanted: datetime | None, after: list[Stream]
) -> datetime:
    """Return until when a stream was copied. Raises GapError when that is not enough; ``after``: newer streams."""
    reaches = datetime.fromisoformat(stream.last()["time"]) if stream.last() else _stamp(found[-1])
    if wanted and not begin <= wanted <= reaches:
        raise _refused(
            f"{wanted:%Y-%m-%d %H:%M:%S} UTC is {'before the set' if wanted < begin else 'after the last log'}: "
            f"they go from {begin:%Y-%m-%d %H:%M:%S} to {reaches:%Y-%m-%d %H:%M:%S} UTC",
            where=str(stream.place),
        )  # fmt: skip
    if after and not wanted:
        raise _refused(
            f"the set's logs end at {reaches:%Y-%m-%d %H:%M:%S} UTC, those from {after[0].about.began} on do not "
            f"follow them: {after[0].about.why}",
            where=str(stream.place), remedy=f"use a newer set; or -e restore_until={reaches:%Y-%m-%dT%H:%M:%SZ}",
        )  # fmt: skip
    return reaches


def _of_stream(stream: Stream, anchor: dict[str, Any], store: Store | None, wanted: datetime | None) -> list[Piece]:
    """Return the pieces of a stream from the set's log on, none when that is not its log. Raises GroundupError.

    With ``store``, those after the piece in which the replay stops are neither returned nor looked at.
    """
    pieces = stream.pieces()
    begin = next((number for number, one in enumerate(pieces) if one.log == anchor["file"] and not one.start), None)
    if begin is None:
        return []
    found = pieces[begin:]
    if not store or not wanted:
        stream.checked(found)
    copied = max(piece.end for piece in found if piece.log == anchor["file"])
    if copied < anchor["position"]:
        raise _refused(
            f"the log {anchor['file']} was copied to byte {copied}, the set ends at byte {anchor['position']}",
            where=str(stream.place),
        )  # fmt: skip
    if not store:
        return found
    key, digest, at = stream.key(store), hashlib.sha256(), 0
    stop = wanted.timestamp() if wanted else math.inf
    for number, piece in enumerate(found, 1):
        stream.checked(found[max(number - 2, 0) : number], last=False)
        own = piece.log == anchor["file"]
        scan = _Scan(skip=0 if piece.start else len(MAGIC), begin=anchor["position"] - piece.start if own else 0)
        for data in stream.content(piece, key):  # all are opened: before anything is replaced
            if own:
                digest.update(data[max(MARK - at, 0) : max(anchor["position"] - at, 0)])
                at += len(data)
            scan.add(data)
        if scan.latest >= stop:
            found = found[:number]
            break
    else:
        stream.checked(found)
    return found if digest.hexdigest() == anchor["sha256"] else []


class _Scan:
    """The latest time of the events in a piece, of those from byte ``begin`` of it on: mariadb-binlog stops at it."""

    def __init__(self, *, skip: int, begin: int) -> None:
        self._skip, self._begin, self._at, self._head, self.latest = skip, begin, 0, bytearray(), 0

    def add(self, data: bytes) -> None:
        place = 0
        while place < len(data):
            if self._skip:
                step = min(self._skip, len(data) - place)
                self._skip -= step
            else:
                step = min(HEADER - len(self._head), len(data) - place)
                self._head += data[place : place + step]
                if len(self._head) == HEADER:
                    when, length = _EVENT.unpack_from(self._head)
                    if self._at + place + step - HEADER >= self._begin:
                        self.latest = max(self.latest, when)
                    self._skip = max(length - HEADER, 0)
                    self._head.clear()
            place += step
        self._at += len(data)


def _files(pieces: list[Piece], position: int) -> tuple[LogFile, ...]:
    sizes = {piece.log: piece.end for piece in pieces}
    return tuple(
        LogFile(name=log, start=position if log == pieces[0].log else 4, size=size) for log, size in sizes.items()
    )


def _time(until: str) -> datetime | None:
    if not until:
        return None
    try:
        found = datetime.fromisoformat(until)
    except ValueError:
        raise GroundupError(
            f"{until} is no time", where="the variable restore_until", why="nobody knows how far logs are replayed",
            remedy=f"write one such as 2026-11-28T14:05:00Z, or {NONE} for the set alone",
        ) from None  # fmt: skip
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).astimezone(UTC)


def _stamp(piece: Piece) -> datetime:
    return datetime.fromisoformat(piece.time)


def _refused(what: str, *, where: str, remedy: str = "") -> GapError:
    return GapError(
        f"no binary logs can be replayed after the set ({_CODE}): {what}", where=where,
        why="what was committed since would be lost without a word",
        remedy=remedy
        or f"use another set, or take a new one while the databases live; -e restore_until={NONE} takes the set alone",
    )  # fmt: skip
