"""The ``pause`` program: one C file of the Kubernetes module, compiled statically in the Go build root.

Inputs: ``module`` (directory below ``go/`` whose go.mod pins k8s.io/kubernetes).
"""

from __future__ import annotations

import shutil
from pathlib import Path

from ..build.context import Context
from ..build.sbom import Component
from ..lock.model import Entry
from .go import BUILDER as GO
from .go import go_binds, go_environment

_COMPILE = """
source=$(go list -m -f '{{.Dir}}' k8s.io/kubernetes)/build/pause/linux/pause.c
go list -m -f '{{.Version}}' k8s.io/kubernetes > version
gcc -Os -Wall -Werror -static -s -Wl,--build-id=none -ffile-prefix-map="${source%/*}"=. \\
  -DVERSION="v$1" -o pause "$source"
"""


class Pause:
    """gcc on the module's own source."""

    version = 1

    def sources(self, entry: Entry) -> tuple[Path, ...]:
        """The module's directory."""
        return GO.sources(entry)

    def build(self, entry: Entry, context: Context) -> None:
        """Compile it."""
        work = context.scratch / "work"
        shutil.copytree(self.sources(entry)[0], work)
        context.chroot("root-go").run(
            ["sh", "-euc", "go mod download k8s.io/kubernetes\n" + _COMPILE, "sh", entry.version],
            env=go_environment(context), binds=go_binds(context) | {"/src": work}, cwd="/src",
        )  # fmt: skip
        shutil.move(work / "pause", context.output / "pause")
        version = (work / "version").read_text(encoding="utf-8").strip()
        context.components.append(Component.go("k8s.io/kubernetes", version))


BUILDER = Pause()
