"""The context of a build: output path, needed artifacts, and how to run commands."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ...paths import cache_dir
from ..cache.artifact import Artifact
from ..cache.unpack import unpacked
from ..lock.model import Lock
from .chroot import Chroot
from .process import Commands, enclosed
from .sbom import Component


@dataclass(slots=True, kw_only=True)
class BuildContext:
    lock: Lock  # the whole lock; builders read ``lock.pins``
    output: Path  # where to write the artifact: a file (``root``, ``image``) or an empty directory (``files``)
    scratch: Path  # an empty directory on the cache's file system, removed afterwards
    needs: Mapping[str, Artifact]
    commands: Commands
    say: Callable[[str], None]  # shows the current step: ``say("compiling")``
    components: list[Component] = field(default_factory=list)  # packages inside, for the SBOM; a builder appends

    def run(self, command: Sequence[str | Path], *, env: Mapping[str, str] | None = None) -> None:
        """Run a command of this machine (mmdebstrap, tar, skopeo). Raises GroundupError when it fails.

        Its mounts and child processes end with it, because it has its own namespaces.
        """
        self.commands.run(enclosed(command, "--mount-proc"), what=str(command[0]), env=env)

    def chroot(self, root: str, *, layer: str = "root") -> Chroot:
        """Return a build root on the needed artifact ``root``, with one writable layer per ``layer`` name."""
        return Chroot(lower=unpacked(self.needs[root]), scratch=self.scratch / layer, commands=self.commands)

    def shared_cache(self, name: str) -> Path:
        """Return a persistent cache directory (modules, wheels, objects) that several builds may use at once."""
        path = cache_dir() / "build" / name
        path.mkdir(parents=True, exist_ok=True)
        return path
