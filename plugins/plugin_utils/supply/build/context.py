"""What a builder is given: where its result goes, what it may use, and how it runs commands."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ...paths import cache_dir
from ..cache.artifact import Artifact
from ..cache.unpack import unpacked
from ..lock.model import Lock
from .chroot import Chroot
from .process import NAMESPACES, Commands
from .sbom import Component


@dataclass(slots=True, kw_only=True)
class BuildContext:
    """One build."""

    lock: Lock  # the whole; builders read ``lock.pins``
    output: Path  # where the artifact goes: a file (``root``, ``image``) or an empty directory (``files``)
    scratch: Path  # an empty directory on the cache's file system, removed afterwards
    needs: Mapping[str, Artifact]
    commands: Commands
    say: Callable[[str], None]  # shows the step under way: ``say("compiling")``
    components: list[Component] = field(default_factory=list)  # what is inside, for the SBOM; a builder appends

    def run(self, command: Sequence[str | Path], *, env: Mapping[str, str] | None = None) -> None:
        """Run a command of this machine (mmdebstrap, tar, skopeo). Raises GroundupError when it fails.

        Its mount and process namespaces end with it, and with them what it mounted and started.
        """
        self.commands.run([*NAMESPACES, "--mount-proc", "--", *command], what=str(command[0]), env=env)

    def chroot(self, root: str, *, layer: str = "root") -> Chroot:
        """Return a build root on the needed artifact ``root``; every ``layer`` name has its own writable layer."""
        return Chroot(lower=unpacked(self.needs[root]), scratch=self.scratch / layer, commands=self.commands)

    def shared_cache(self, name: str) -> Path:
        """Return a directory that outlives builds and that several may use at once: modules, wheels, objects."""
        path = cache_dir() / "build" / name
        path.mkdir(parents=True, exist_ok=True)
        return path
