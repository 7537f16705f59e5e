"""The format number of a state directory: which versions of this collection may use it.

The number rises when an older version would misread what a newer one writes. A state without one is of before.
"""

from __future__ import annotations

import re
from pathlib import Path

from ..module_utils._base.files import read, write_file
from .errors import GroundupError

FORMAT = 1  # of the states that this version writes
FILE = "format"
_OF_BEFORE = 0


def refuse_newer(state: Path, *, where: str = "") -> int:
    """Return the format of the directory ``state``, 0 of one of before. Raises GroundupError for a newer one than ours.

    ``where``: what an error calls it.
    """
    text = read(state / FILE)
    if text is None:
        return _OF_BEFORE
    if not re.fullmatch(r"[1-9][0-9]{0,3}\n?", text):
        raise GroundupError(
            "the format of the state directory cannot be read: it is no number", where=where or str(state / FILE),
            why="a newer version of groundup.cloud may have written this state, and this one would misread it",
            remedy="restore the file from your backup of the state directory; or, if no newer version was used on this "
            "site, remove it: the next run writes it again",
        )  # fmt: skip
    if (found := int(text)) > FORMAT:
        raise GroundupError(
            f"the state directory has format {found}, this version of groundup.cloud knows formats up to {FORMAT}",
            where=where or str(state),
            why="a newer version wrote it: this one would misread parts of it, secrets and records of work under way",
            remedy="install the version that wrote it, or a later one (docs/product-upgrade.md); or restore the state "
            "of before from a backup",
        )  # fmt: skip
    return found


def adopt(state: Path) -> None:
    """Write our format into the directory ``state`` unless it has it. Raises GroundupError, OSError."""
    if refuse_newer(state) < FORMAT:
        state.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_file(state / FILE, f"{FORMAT}\n".encode(), mode=0o644)
