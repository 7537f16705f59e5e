"""Python environments of the lock (builder ``environment``) that this machine runs itself, unpacked once per digest."""

from __future__ import annotations

import platform
from pathlib import Path

from ..errors import GroundupError
from ..layers.systems import ENVIRONMENT, SYSTEMS
from ..progress import Progress, no_progress
from . import ensure, missing
from .cache import unpack


def local_environment(name: str, *, progress: Progress = no_progress) -> Path:
    """Return the directory of environment ``name`` for this machine's Debian release; build and unpack it if missing.

    ``progress`` is called only when something has to be built. Raises GroundupError.
    """
    artifact = environment_artifact(name, platform.freedesktop_os_release())
    shown = progress if missing(artifact) else no_progress
    return unpack.unpacked(ensure(artifact, progress=shown)[artifact], archive=ENVIRONMENT)


def environment_artifact(name: str, system: dict[str, str]) -> str:
    """Return the artifact of environment ``name`` for a ``system`` (os-release). Raises GroundupError for others."""
    release = system.get("VERSION_ID", "")
    if (system.get("ID"), release) not in {(one.id, one.version) for one in SYSTEMS.values()}:
        raise GroundupError(
            f"{system.get('PRETTY_NAME') or 'this system'} cannot run {name}",
            where="/etc/os-release of this machine",
            why="the environment is compiled for the Python of a Debian release",
            remedy=f"run it on a control node with {' or '.join(one.name for one in SYSTEMS.values())}",
        )
    return f"{name}-{release}"
