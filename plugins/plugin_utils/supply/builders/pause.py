"""Build the ``pause`` program: one C file of the Kubernetes module, compiled statically in the Go build root.

Inputs: ``module`` (directory below ``supply/go/`` whose go.mod pins k8s.io/kubernetes).
"""

from __future__ import annotations

import shutil

from ..lock.model import Entry
from ..make.context import BuildContext
from ..make.sbom import Component
from .go import GoPrograms, run_go

_COMPILE = """
source=$(go list -m -f '{{.Dir}}' k8s.io/kubernetes)/build/pause/linux/pause.c
go list -m -f '{{.Version}}' k8s.io/kubernetes > version
gcc -Os -Wall -Werror -static -s -Wl,--build-id=none -ffile-prefix-map="${source%/*}"=. \\
  -DVERSION="v$1" -o pause "$source"
"""


class Pause(GoPrograms):
    """Run gcc on the module's own source."""

    def build(self, entry: Entry, context: BuildContext) -> None:
        """Compile the program."""
        work = context.scratch / "work"
        shutil.copytree(self.sources(entry)[0], work)
        script = "go mod download k8s.io/kubernetes\n" + _COMPILE
        run_go(context, ["sh", "-euc", script, "sh", entry.version], source=work)
        shutil.move(work / "pause", context.output / "pause")
        version = (work / "version").read_text(encoding="utf-8").strip()
        context.components.append(Component.of("golang", "k8s.io/kubernetes", version))


BUILDER = Pause()
