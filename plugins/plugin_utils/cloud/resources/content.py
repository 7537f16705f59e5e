"""Content of images: fetched by the control node, uploaded if its digest fits; and whether it may be used."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from typing import IO, Any

import requests

from ...errors import GroundupError
from ...layers.mirror import OCI
from .api import CloudApi
from .parts import Object, ResourcePart

_CHUNK = 1024 * 1024
_WHY = "an image of the site file is made of it"


def _read_content(_api: CloudApi, found: Object, wanted: Any) -> Any:
    return {} if found.get("status") == "queued" else wanted


def _write_content(api: CloudApi, found: Object, _before: Any, after: Any) -> None:
    with _fetched(after["source"], after["sha256"]) as kept:
        headers = {"Content-Type": "application/octet-stream"}
        api.call("image", "PUT", f"/images/{found['id']}/file", headers=headers, data=kept)


def _read_active(_api: CloudApi, found: Object, _wanted: Any) -> Any:
    return found.get("status") != "deactivated"


def _write_active(api: CloudApi, found: Object, _before: Any, after: Any) -> None:
    api.call("image", "POST", f"/images/{found['id']}/actions/{'reactivate' if after else 'deactivate'}")


@contextmanager
def _fetched(source: str, sha256: str) -> Iterator[IO[bytes]]:
    """Give an image's file until the end of the block. Raises GroundupError if it is another one."""
    if source.startswith(OCI):
        from ...supply import artifact_file  # late: few images come this way

        with TemporaryDirectory() as place:
            path = artifact_file.fetch(source.removeprefix(OCI), sha256, into=Path(place), why=_WHY)
            with path.open("rb") as kept:
                yield kept
    else:
        with TemporaryFile() as kept:
            _fetch(source, sha256, kept)
            kept.seek(0)
            yield kept


def _fetch(source: str, sha256: str, into: IO[bytes]) -> None:
    """Write the file at ``source`` into ``into``. Raises GroundupError if it is another one."""
    digest = hashlib.sha256()
    try:
        if source.startswith("/"):
            with Path(source).open("rb") as stream:
                for chunk in iter(lambda: stream.read(_CHUNK), b""):
                    digest.update(chunk)
                    into.write(chunk)
        else:
            with requests.get(source, stream=True, timeout=60) as answer:
                answer.raise_for_status()
                for chunk in answer.iter_content(_CHUNK):
                    digest.update(chunk)
                    into.write(chunk)
    except (OSError, requests.RequestException) as error:
        raise GroundupError(
            f"cannot be read: {error}", where=source, why=_WHY,
            remedy="correct source, or the way there from the control node",
        ) from error  # fmt: skip
    if digest.hexdigest() != sha256:
        raise GroundupError(
            f"its digest is {digest.hexdigest()}, the site file has {sha256}", where=source,
            why="it is not the file that was meant", remedy="ask who publishes it",
        )  # fmt: skip


CONTENT = ResourcePart(_read_content, _write_content)
ACTIVE = ResourcePart(_read_active, _write_active)
