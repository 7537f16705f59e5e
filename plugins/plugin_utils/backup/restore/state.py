"""The state of a site on the control node: put back where there is none, from a set and the password alone."""

from __future__ import annotations

import filecmp
import io
import os
import shutil
import tarfile
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import IO

from ....module_utils._base.files import sync
from ...errors import GroundupError
from ...paths import state_dir
from ...upgrade import journal as upgrades
from ...vault import STORE, open_lost
from ..sets import state
from ..shelf import STAMP
from . import journal

# Records of work under way that has ended since, the site file, and what another restore left.
_PAST = (journal.FILE, *upgrades.FILES)
_NOT_PUT = (state.SITE_FILE, f"{state.RESTORING}/")


def refuse_living(site: str, *, restored: str = "") -> None:
    """Refuse to write over the state of a site that has a secrets store. Raises GroundupError.

    ``restored``: identity of the set's, which a restore that goes on has put already.
    """
    if (store := state_dir(site) / STORE).exists() and open_lost(site).identity != restored:
        raise GroundupError(
            "this control node has a state of the site: it is not replaced", where=str(store),
            why="its secrets may be newer than the set's, and nothing makes them again",
            remedy="leave state out of restore_parts; or move the directory away, if it is the wrong one",
        )  # fmt: skip


def put(
    site: str, pieces: Iterable[bytes], *, judge: Callable[[Path], object] = lambda _: None
) -> tuple[int, Path | None]:
    """Write the files of an archive into the state directory, the secrets store last.

    Returns their number, and where other files of their names are that were there. ``judge`` is given a directory with
    the files before they are put, and raises for wrong ones. A killed run leaves no store, so that the next begins
    again. Raises GroundupError, OSError, tarfile.TarError.
    """
    home = state_dir(site)
    refuse_living(site)
    new, aside = home / state.RESTORING, home / f"{datetime.now(UTC).strftime(STAMP)}{state.SET_ASIDE}"
    if new.exists():
        shutil.rmtree(new)
    new.mkdir(mode=0o700, parents=True)
    with tarfile.open(fileobj=io.BufferedReader(state.reader(pieces), 1 << 16), mode="r|") as archive:
        for member in archive:
            if not member.name.startswith(_NOT_PUT) and member.name not in _PAST:
                _write(new, member, archive.extractfile(member) if member.isfile() else None)
    places, found = [new], list[Path]()
    for path in new.rglob("*"):
        (places if path.is_dir() else found).append(path)
    if new / STORE not in found:
        raise GroundupError(
            f"the set's state has no {STORE}", where=str(new),
            why="a control node without it has no secret of the site", remedy="use an older set",
        )  # fmt: skip
    try:
        judge(new)
    except GroundupError:
        shutil.rmtree(new)
        raise
    for path in sorted(found, key=lambda path: path == new / STORE):
        if path == new / STORE:
            for place in places:
                sync(home / place.relative_to(new))
        _move(path, home / path.relative_to(new), aside / path.relative_to(new))
    sync(home)
    shutil.rmtree(new)
    return len(found), aside if aside.exists() else None


def _write(home: Path, member: tarfile.TarInfo, content: IO[bytes] | None) -> None:
    path = home / member.name
    if content is None or ".." in path.parts or not path.is_relative_to(home):
        raise GroundupError(
            f"the set's state has {member.name!r}, which is no file below it", where=str(home),
            why="only files of the state directory are written", remedy="use an older set",
        )  # fmt: skip
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with path.open("xb") as stream:
        path.chmod(member.mode & 0o755)
        shutil.copyfileobj(content, stream)
        stream.flush()
        os.fsync(stream.fileno())


def _move(path: Path, target: Path, aside: Path) -> None:
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if target.exists() and not filecmp.cmp(path, target, shallow=False):
        aside.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        target.rename(aside)
    path.replace(target)
