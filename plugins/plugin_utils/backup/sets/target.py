"""The directory of the sets, known again: where its file system is not mounted, an empty one has its name.

An empty file in the directory of the site's sets, `.directory-ID`, says which it is; the state directory knows the ID.
It does so beside other backups, which are in no set: a control node that was restored takes what it finds.
"""

from __future__ import annotations

import json
import secrets
from pathlib import Path

from ....module_utils._base.files import sync, write_file
from ...errors import GroundupError
from ...paths import state_dir
from ...record import read_record
from .disk import default_home

_MARK, RECORD = ".directory-", "backups/directories.json"


def refuse_away(site: str, home: Path) -> None:
    """Refuse a directory of sets that is not there, or not the one that was used before. Raises GroundupError."""
    if home == default_home(site):
        return
    if not home.parent.is_dir():
        raise GroundupError(
            f"the directory for backups is not there: {home.parent}", where="backups.directory of the site file",
            why="a file system that is not mounted would leave the sets on this machine's own disk",
            remedy="mount it, or make the directory",
        )  # fmt: skip
    known = _known(site).get(str(home.absolute()))
    if known and not (home / f"{_MARK}{known}").exists():
        raise GroundupError(
            f"{home.parent} is not the directory that backups used before (backups-away)",
            where=f"{home / _MARK}{known}, which is missing",
            why="a file system that is not mounted would leave the sets on this machine's own disk",
            remedy=f"mount it; if it is another one on purpose, remove {_path(site)}",
        )


def remember(site: str, home: Path) -> None:
    """Mark a directory of sets that is used for the first time. Raises GroundupError, OSError."""
    known = _known(site)
    if home == default_home(site) or str(home.absolute()) in known:
        return
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    found = [one.name.removeprefix(_MARK) for one in sorted(home.glob(f"{_MARK}*"))] or [secrets.token_hex(8)]
    (home / f"{_MARK}{found[0]}").touch(mode=0o600)
    sync(home)
    text = json.dumps({**known, str(home.absolute()): found[0]}, indent=1)
    write_file(_path(site), f"{text}\n".encode(), mode=0o600)


def _known(site: str) -> dict[str, str]:
    found = read_record(
        _path(site), lambda said: {str(home): str(name) for home, name in said.items()},
        what="the record of directories for backups", why="one that is not mounted would not be known",
        remedy="see that backups.directory is mounted, then remove the file",
    )  # fmt: skip
    return found or {}


def _path(site: str) -> Path:
    return state_dir(site) / RECORD
