"""Files of a host: written whole, in one step, only when they differ, checked before they count."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable
from pathlib import Path

from .._atomic import write
from .changes import Changes

HIDDEN = "(secret)\n"
BEGIN = "# BEGIN groundup.cloud"
END = "# END groundup.cloud"


def read(path: Path) -> str | None:
    """Return the text of ``path``, None when it does not exist."""
    try:
        return path.read_text(encoding="utf-8", errors="surrogateescape")
    except FileNotFoundError:
        return None


def place(
    changes: Changes,
    path: Path,
    content: str,
    *,
    mode: int = 0o644,
    secret: bool = False,
    valid: Callable[[Path], object] | None = None,
    before: Callable[[], object] | None = None,
) -> bool:
    """Make ``path`` a file of root's with ``content`` and ``mode``; return whether it was not.

    ``valid`` is given the new file before it replaces the old one, and raises HostError when it is no good. ``before``
    is called just before the replacement. The content of a ``secret`` file is in no diff.
    """
    old = read(path)
    same_text = old == content
    if same_text and _owned(path, mode):
        return False
    if not same_text:
        hide = HIDDEN if secret else None
        changes.diff(what=str(path), before=hide or old or "", after=hide or content)
    if changes.add(f"{path}: {'written' if not same_text else 'owner or mode'}"):
        path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
        write(path, content.encode("utf-8", errors="surrogateescape"), mode=mode, valid=valid, before=before)
    return True


def remove(changes: Changes, path: Path, *, before: Callable[[], object] | None = None) -> bool:
    """Make sure that there is no file ``path``; return whether there was one. ``before`` is called just before."""
    old = read(path)
    if old is None:
        return False
    changes.diff(what=str(path), before=old, after="")
    if changes.add(f"{path}: removed"):
        if before:
            before()
        path.unlink()
    return True


def link(changes: Changes, path: Path, target: str) -> bool:
    """Make ``path`` a symbolic link to ``target``; return whether it was not."""
    if path.is_symlink() and str(path.readlink()) == target:
        return False
    if changes.add(f"{path}: link to {target}"):
        temporary = path.with_name(f".{path.name}.groundup")
        temporary.unlink(missing_ok=True)
        temporary.symlink_to(target)
        temporary.replace(path)
    return True


def with_block(text: str, lines: Iterable[str]) -> str:
    """Return ``text`` with our block at its end replaced by ``lines``; what others wrote is kept as it is."""
    kept = outside_block(text)
    while kept and not kept[-1].strip():
        kept.pop()
    return "".join(f"{line}\n" for line in [*kept, BEGIN, *lines, END])


def outside_block(text: str) -> list[str]:
    """Return the lines of ``text`` that are not in our block."""
    kept: list[str] = []
    inside = False
    for line in text.splitlines():
        inside = (inside or line == BEGIN) and line != END
        if not inside and line != END:
            kept.append(line)
    return kept


def _owned(path: Path, mode: int) -> bool:
    status = path.stat()
    return stat.S_IMODE(status.st_mode) == mode and (status.st_uid, status.st_gid) == (os.geteuid(), os.getegid())
