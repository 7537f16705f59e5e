"""The image that test instances boot: the site's own guest, or a file that an operator names."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from .errors import GroundupError
from .supply import ensure, missing

ARTIFACT, FILE = "guest", "guest.qcow2"


def guest_image(named: str | None, *, progress: Callable[[str], None]) -> Path:
    """Return the path of the image. Builds the site's guest when it is missing. Raises GroundupError."""
    path = (
        Path(named)
        if named
        else ensure(ARTIFACT, progress=progress if missing(ARTIFACT) else _silent)[ARTIFACT].path / FILE
    )
    if not path.is_file():
        raise GroundupError(
            f"there is no image {path}", where="option image", why="the instance boots from it",
            remedy="name a qcow2 file, or leave the option out: the site's own guest is used",
        )  # fmt: skip
    return path


def _silent(_line: str) -> None:
    pass
