"""Write files atomically: a killed run leaves the old file unchanged, and no temporary file."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Callable
from pathlib import Path

from .changes import Changes

HIDDEN = "(secret)\n"
HEADER = "# Written by groundup.cloud.\n"


def write_file(
    path: Path,
    data: bytes,
    *,
    mode: int,
    group: int | None = None,
    valid: Callable[[Path], object] | None = None,
    before: Callable[[], object] | None = None,
) -> None:
    """Replace ``path`` by ``data`` atomically, with ``mode`` from the first byte; create a missing directory.

    ``valid`` receives the new file and raises when it is invalid; ``before`` is called just before the replacement.
    Raises OSError.
    """
    temporary = _beside(path, data, mode=mode, group=group)
    try:
        if valid:
            valid(temporary)
        if before:
            before()
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def write_new(path: Path, data: bytes, *, mode: int) -> bool:
    """Write ``path`` atomically if it does not exist; return whether it was written."""
    temporary = _beside(path, data, mode=mode)
    try:
        os.link(temporary, path)
    except FileExistsError:
        return False
    finally:
        temporary.unlink()
    return True


def read(path: Path) -> str | None:
    """Return the text of ``path``, None when it does not exist."""
    try:
        return path.read_text(encoding="utf-8", errors="surrogateescape")
    except (FileNotFoundError, NotADirectoryError):
        return None


def place(
    changes: Changes,
    path: Path,
    content: str,
    *,
    mode: int = 0o644,
    group: int | None = None,
    secret: bool = False,
    valid: Callable[[Path], object] | None = None,
    before: Callable[[], object] | None = None,
) -> bool:
    """Give ``path`` this ``content``, ``mode`` and owner; return whether the content differed.

    The owner is the current user. ``group``: the id of another group that may read the file; None: the user's own.
    ``valid`` and ``before``: see `write_file`. The diff hides the content of a ``secret`` file. A file with the right
    content is not rewritten: only its mode and owner are corrected.
    """
    old = read(path)
    if old == content:
        wrong = _wrong_rights(path, mode, group)
        if wrong and changes.add(f"set mode {mode:o} and owner of {path}", name=str(path), before=wrong):
            os.chown(path, os.geteuid(), os.getegid() if group is None else group)
            path.chmod(mode)
        return False
    changes.written.add(path)
    shown = (HIDDEN if old else "", HIDDEN) if secret else (old or "", content)
    if changes.add(f"write {path}", name=str(path), before=shown[0], after=shown[1]):
        write_file(
            path, content.encode("utf-8", errors="surrogateescape"), mode=mode, group=group, valid=valid, before=before
        )
    return True


def generate(changes: Changes, path: Path, text: str, *, before: Callable[[], object] | None = None) -> bool:
    """Write ``text`` below our header, or remove ``path`` when ``text`` is empty; return whether it differed."""
    return place(changes, path, HEADER + text, before=before) if text else remove(changes, path, before=before)


def remove(changes: Changes, path: Path, *, secret: bool = False, before: Callable[[], object] | None = None) -> bool:
    """Remove ``path``; return whether it existed. ``before`` is called first; the diff hides a ``secret`` file."""
    old = read(path)
    if old is None and not path.is_symlink():  # one to nowhere is there, too
        return False
    if changes.add(f"remove {path}", name=str(path), before=HIDDEN if secret else old or ""):
        if before:
            before()
        path.unlink()
    return True


def directory(changes: Changes, path: Path, *, mode: int, owner: int | None = None, group: int | None = None) -> None:
    """Have the directory ``path`` with ``mode``. ``owner``, ``group``: ids; None: as they are, or the user's own."""
    now = path.stat() if path.exists() else None
    owners = (
        owner if owner is not None else now.st_uid if now else os.geteuid(),
        group if group is not None else now.st_gid if now else os.getegid(),
    )
    if now and (stat.S_IMODE(now.st_mode), now.st_uid, now.st_gid) == (mode, *owners):
        return
    if changes.add(f"set mode {mode:o} and owner of {path}" if now else f"make {path}, mode {mode:o}"):
        path.mkdir(mode, parents=True, exist_ok=True)
        os.chown(path, *owners)
        path.chmod(mode)


def link(changes: Changes, path: Path, target: str) -> None:
    """Make ``path`` a symbolic link to ``target``."""
    if path.is_symlink() and str(path.readlink()) == target:
        return
    if changes.add(f"link {path} to {target}"):
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f".{path.name}.groundup")
        temporary.unlink(missing_ok=True)
        temporary.symlink_to(target)
        temporary.replace(path)


def sync(directory: Path) -> None:
    """Sync a ``directory`` to disk, after a rename in it."""
    handle = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _beside(path: Path, data: bytes, *, mode: int, group: int | None = None) -> Path:
    """Write ``data`` to a new file in the directory of ``path`` and return that file. Raises OSError."""
    path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as stream:
            if group is not None:
                os.fchown(stream.fileno(), -1, group)
            os.fchmod(stream.fileno(), mode)
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    return temporary


def _wrong_rights(path: Path, mode: int, group: int | None) -> str:
    status = path.stat()
    owners = (os.geteuid(), os.getegid() if group is None else group)
    if stat.S_IMODE(status.st_mode) == mode and (status.st_uid, status.st_gid) == owners:
        return ""
    return f"mode {stat.S_IMODE(status.st_mode):o}, owner {status.st_uid}:{status.st_gid}\n"
