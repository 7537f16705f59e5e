"""Binary logs on disk: streams of sealed pieces, below `logs` of the directory of the sets.

    STREAM/stream.json                           whose logs, and the key of its pieces, sealed
    STREAM/FIRST-LAST-LOG-START-END-TIME.sealed  a piece: numbers, bytes START to END of the file LOG, whole events
    STREAM/last.json                             number of the last piece, and when nothing more was to be copied

A stream is what one member wrote without a gap. The name of a piece is bound to its content: one that is renamed,
exchanged, cut or changed does not open, and one that is missing leaves a gap in the numbers.
"""

from __future__ import annotations

import base64
import hmac
import itertools
import json
import os
import re
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypedDict

from ....module_utils._base.files import sync, write_file
from ...errors import GroundupError
from ...vault import SecretsError, Store
from ..sets.disk import NAME, SUFFIX
from ..sets.seal import Sealer, SealError, new_key, opened
from ..shelf import STAMP

LOGS, ABOUT, LAST = "logs", "stream.json", "last.json"
_PARTIAL, _REMOVED = ".partial", ".removed-"
_PIECE = re.compile(r"(\d{10})-(\d{10})-([\w.\-]+)-(\d+)-(\d+)-(\d{8}T\d{6}Z)\.sealed")
_MERGED_AT = 500  # pieces of one log until they become one


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """Bytes of a log. ``first``, ``last``: its numbers, several when pieces were merged."""

    first: int
    last: int
    log: str
    start: int
    end: int
    time: str

    @classmethod
    def parse(cls, name: str) -> Piece | None:
        """Return the piece of a file's name, None when it is no piece."""
        if not (found := _PIECE.fullmatch(name)):
            return None
        first, last, log, start, end, time = found.groups()
        return cls(first=int(first), last=int(last), log=log, start=int(start), end=int(end), time=time)

    @property
    def name(self) -> str:
        """Return the name of its file."""
        return f"{self.first:010}-{self.last:010}-{self.log}-{self.start}-{self.end}-{self.time}{SUFFIX}"

    def __str__(self) -> str:
        return f"{self.log}, bytes {self.start} to {self.end}"


class _Sealing(TypedDict):
    label: str
    key: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """Description of a stream."""

    site: str
    store: str  # identity of the secrets store
    key: str  # of its pieces, encrypted with the password of the secrets store
    member: str  # pod whose logs these are
    history: str  # id of Galera's cluster
    began: str
    why: str  # why the stream before ended; "": there was none


class Stream:
    """One stream."""

    def __init__(self, place: Path, about: About) -> None:
        """Take what `LogShelf` has read."""
        self.place, self.about, self.name = place, about, place.name

    def pieces(self) -> list[Piece]:
        """Return the pieces that are there, in order; those that a merged one has are left out."""
        found = [piece for one in self.place.iterdir() if (piece := Piece.parse(one.name))]
        ordered: list[Piece] = []
        for piece in sorted(found, key=lambda one: (one.first, -one.last)):
            if not ordered or piece.last > ordered[-1].last:
                ordered.append(piece)
        return ordered

    def last(self) -> dict[str, Any]:
        """Return the last number and time, or nothing. Raises GroundupError when they cannot be read."""
        try:
            found = json.loads((self.place / LAST).read_text(encoding="utf-8"))
            datetime.fromisoformat(found["time"])
            return {**found, "number": int(found["number"])}
        except FileNotFoundError:
            return {}
        except (ValueError, TypeError, LookupError) as error:
            raise self.damaged(f"{LAST} cannot be read: {error}") from error

    def checked(self, pieces: list[Piece], *, last: bool = True) -> list[Piece]:
        """Return ``pieces``, with ``last`` those to the stream's end. Raises GroundupError where one is missing."""
        for before, after in itertools.pairwise(pieces):
            if after.first != before.last + 1:
                raise self.damaged(f"piece {before.last + 1} is missing, after {before}")
            if after.start != (before.end if after.log == before.log else 0):
                raise self.damaged(f"a part of {after.log} is missing before byte {after.start}")
        number, there = int(self.last().get("number", 0)) if last else 0, pieces[-1].last if pieces else 0
        if number > there:
            raise self.damaged(f"piece {there + 1} is missing: the last one is {number}")
        return pieces

    def key(self, store: Store) -> bytes:
        """Return the key of the pieces. Raises SecretsError."""
        return base64.b64decode(store.unseal(self.about.key.encode(), where=f"{self.place / ABOUT}, field key"))

    def current(self, store: Store) -> bool:
        """Return whether the present password opens it. Raises SecretsError when nobody can read that password."""
        present = store.source.read()
        try:
            store.unseal(self.about.key.encode(), where="", passwords=[present])
        except SecretsError:
            return False
        return True

    def content(self, piece: Piece, key: bytes) -> Iterator[bytes]:
        """Yield the bytes of a piece. Raises GroundupError; then what was yielded before is not to be used."""
        size = 0
        try:
            with (self.place / piece.name).open("rb") as stream:
                for data in opened(stream, **self._sealing(piece, key)):
                    size += len(data)
                    yield data
        except FileNotFoundError:
            raise self.damaged(f"piece {piece.first} is missing ({piece})") from None
        except SealError as error:
            raise self.damaged(f"piece {piece.first} ({piece}): {error}") from error
        if size != piece.end - piece.start:
            raise self.damaged(f"piece {piece.first} ({piece}) has {size} bytes")

    def add(self, piece: Piece, content: Iterable[bytes], key: bytes) -> None:
        """Write a piece: it is whole, or not there."""
        partial = self.place / f"{_PARTIAL}{piece.first}"
        handle = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        with os.fdopen(handle, "wb") as stream:
            sealer = Sealer(stream, **self._sealing(piece, key))
            for data in content:
                sealer.write(data)
            sealer.close()
            stream.flush()
            os.fsync(stream.fileno())
        partial.rename(self.place / piece.name)
        sync(self.place)

    def seen(self, number: int, at: datetime, **more: str) -> None:
        """Note that the member had nothing beyond piece ``number`` at this time."""
        text = json.dumps({"number": number, "time": at.isoformat(timespec="seconds"), **more})
        write_file(self.place / LAST, f"{text}\n".encode(), mode=0o600)

    def merge(self, log: str, key: bytes, *, closed: bool) -> None:
        """Make one piece of those of ``log`` that were not merged, when it is ``closed`` or they are many."""
        single = [one for one in self.pieces() if one.log == log and one.first == one.last]
        if len(single) < (2 if closed else _MERGED_AT):
            return
        first, last = single[0], single[-1]
        whole = Piece(
            first=first.first, last=last.last, log=log, start=first.start, end=last.end, time=last.time
        )  # fmt: skip
        self.add(whole, (data for one in single for data in self.content(one, key)), key)
        self.tidy()

    def tidy(self) -> None:
        """Remove what a killed run left, and pieces that a merged one has."""
        kept = {piece.name for piece in self.pieces()}
        for one in self.place.iterdir():
            if one.name.startswith(_PARTIAL) or (Piece.parse(one.name) and one.name not in kept):
                one.unlink()

    def damaged(self, what: str) -> GroundupError:
        """Return the error for logs that are not whole."""
        return GroundupError(
            f"the binary logs are damaged (logs-damaged): {what}", where=str(self.place),
            why="what was committed from there on is not restored",
            remedy="take a new set with the playbook groundup.cloud.backup; a restore goes up to a time before it "
            "(-e restore_until=TIME), or to the set (-e restore_until=set)",
        )  # fmt: skip

    def _sealing(self, piece: Piece, key: bytes) -> _Sealing:
        """Return label and key of one piece: a stream has too many for the random nonces of one key."""
        label = f"{self.about.site}/{LOGS}/{self.name}/{piece.name}"
        return {"label": label, "key": hmac.digest(key, label.encode(), "sha256")}


class LogShelf:
    """The streams of a site. ``home``: the directory of its sets."""

    def __init__(self, home: Path) -> None:
        """Look at nothing yet."""
        self.home = home / LOGS

    def streams(self) -> list[Stream]:
        """Return all streams, oldest first. Raises GroundupError when one says nothing of itself."""
        found = self.home.iterdir() if self.home.is_dir() else ()
        return [self._read(one) for one in sorted(found) if NAME.fullmatch(one.name)]

    def newest(self) -> Stream | None:
        """Return the newest stream. Raises GroundupError."""
        return next(reversed(self.streams()), None)

    @property
    def member(self) -> str:
        """Return the pod whose logs are copied, "" when none are. Raises GroundupError."""
        newest = self.newest()
        return newest.about.member if newest else ""

    def begin(self, *, site: str, store: Store, member: str, history: str, why: str) -> Stream:
        """Begin a stream, with a key of its own."""
        now = datetime.now(UTC)
        about = About(
            site=site, store=store.identity, key=store.seal(base64.b64encode(new_key())).decode(), member=member,
            history=history, began=now.isoformat(timespec="seconds"), why=why,
        )  # fmt: skip
        newest = self.newest()  # no two have one name, and the newest comes last
        later = datetime.strptime(newest.name, STAMP).replace(tzinfo=UTC) + timedelta(seconds=1) if newest else now
        place = self.home / max(now, later).strftime(STAMP)
        new = place.with_name(f"{_PARTIAL}-{place.name}")
        shutil.rmtree(new, ignore_errors=True)
        new.mkdir(mode=0o700, parents=True)
        write_file(new / ABOUT, (json.dumps(asdict(about), sort_keys=True, indent=1) + "\n").encode(), mode=0o600)
        sync(new)
        new.rename(place)
        sync(self.home)
        return Stream(place, about)

    def prune(self, since: datetime, ends: Iterable[tuple[str, str, str]] = ()) -> list[str]:
        """Remove the logs that no set from ``since`` on needs; return their names.

        A log is needed that was still written to after the oldest set began, and from the first of ``ends`` on:
        history, member and log that a kept set ends in. The last log of the newest stream always stays.
        """
        needed = set(ends)
        for left in self.home.glob(f"{_REMOVED}*"):
            shutil.rmtree(left)
        oldest, gone, streams = since.astimezone(UTC).strftime(STAMP), list[str](), self.streams()
        for stream in streams:
            copied = {piece.log: piece.time for piece in stream.pieces()}  # the last of each log
            live = next(reversed(copied), "") if stream is streams[-1] else ""
            whose = stream.about.history, stream.about.member
            before = itertools.takewhile(lambda log: (*whose, log) not in needed, copied)  # noqa: B023  # used at once
            old = [log for log in before if copied[log] < oldest and log != live]
            gone += [f"{log} of {stream.about.member}" for log in old]
            if len(old) == len(copied) and stream is not streams[-1]:
                away = stream.place.rename(stream.place.with_name(f"{_REMOVED}{stream.name}"))
                shutil.rmtree(away)
                continue
            for piece in stream.pieces():  # the first of them first: a killed run leaves no gap
                if piece.log in old:
                    (stream.place / piece.name).unlink(missing_ok=True)
        return gone

    def _read(self, place: Path) -> Stream:
        try:
            return Stream(place, About(**json.loads((place / ABOUT).read_text(encoding="utf-8"))))
        except (OSError, ValueError, TypeError) as error:
            raise GroundupError(
                f"binary logs have no description (logs-damaged): {error}", where=str(place / ABOUT),
                why="nobody knows whose they are, and they do not open",
                remedy=f"move {place} away; then take a new set with the playbook groundup.cloud.backup",
            ) from error  # fmt: skip
