"""What a builder is given: where its result goes, what it may use, and how it runs commands."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ...paths import cache_dir
from ..cache.artifact import Artifact
from ..cache.unpack import unpacked
from ..lock.model import Lock
from .chroot import Chroot
from .process import NAMESPACES, Meter, run
from .sbom import Component


@dataclass(slots=True, kw_only=True)
class Context:
    """One build.

    Attributes:
        lock: the whole lock; builders read ``lock.pins``.
        output: where the artifact goes: a file (``root``, ``image``) or an empty directory (``files``).
        scratch: an empty directory on the cache's file system, removed afterwards.
        needs: the artifacts the entry needs, by name.
        log: the build's log.
        meter: CPU seconds so far.
        say: shows a short word about the step under way: ``say("compiling")``.
        components: what is inside, for the SBOM; a builder appends.
        stop: set when the run is being given up.
    """

    lock: Lock
    output: Path
    scratch: Path
    needs: Mapping[str, Artifact]
    log: Path
    meter: Meter
    say: Callable[[str], None]
    stop: threading.Event | None = None
    components: list[Component] = field(default_factory=list)

    def run(
        self, command: Sequence[str | Path], *, env: Mapping[str, str] | None = None, cwd: Path | None = None
    ) -> None:
        """Run a command of this machine (mmdebstrap, tar, skopeo); raises GroundupError when it fails.

        It has mount and process namespaces of its own: what it mounts or starts is gone when it ends or is killed.
        """
        inside = [*NAMESPACES, "--mount-proc", "--", *command]
        run(inside, log=self.log, meter=self.meter, what=str(command[0]), env=env, cwd=cwd, stop=self.stop)

    def chroot(self, root: str, *, layer: str = "root") -> Chroot:
        """Return a build root on the needed artifact ``root``; every ``layer`` name has its own writable layer."""
        return Chroot(
            lower=unpacked(self.needs[root]),
            scratch=self.scratch / layer,
            log=self.log,
            meter=self.meter,
            stop=self.stop,
        )

    def shared_cache(self, name: str) -> Path:
        """Return a directory that outlives builds and that several may use at once: modules, wheels, objects."""
        path = cache_dir() / "build" / name
        path.mkdir(parents=True, exist_ok=True)
        return path
