"""Build images of programs from other artifacts: on an empty base, or on a Debian root file system.

Inputs: ``base`` (a needed ``root`` artifact; absent: empty base), ``files`` (path in the image -> ``artifact:path``),
``modes`` (path -> octal mode, if not 0755), ``links`` (path in the image -> target), ``entrypoint``, ``cmd``, ``env``,
``user``; ``variants`` (``repository:tag`` -> those of the previous four that differ): more images of the same files,
which share the archive and are pushed by name.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..cache.unpack import unpacked
from ..lock.model import Entry
from ..make.archive import pack_command
from ..make.builder import Builder
from ..make.context import BuildContext
from ..make.oci import ImageConfig, write_layer
from ..make.sbom import components_of

_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class ProgramImage(Builder):
    """Build one layer, with the same bytes each time."""

    def build(self, entry: Entry, context: BuildContext) -> None:
        """Lay the tree out and write the archive."""
        inputs = entry.inputs
        labels = {"org.opencontainers.image.title": entry.name, "org.opencontainers.image.version": entry.version}

        def config(stated: Mapping[str, Any]) -> ImageConfig:
            return ImageConfig(
                entrypoint=tuple(stated.get("entrypoint", ())), cmd=tuple(stated.get("cmd", ())),
                user=stated.get("user", ""), labels=labels, env={"PATH": _PATH, **stated.get("env", {})},
            )  # fmt: skip

        variants = {name: config(inputs | stated) for name, stated in inputs.get("variants", {}).items()}
        layer, epoch = context.scratch / "layer.tar", context.lock.pins.epoch
        if "base" in inputs:
            root = context.chroot(inputs["base"])
            self._fill(root.upper, entry, context)
            root.pack(layer, epoch=epoch)
        else:
            tree = context.scratch / "tree"
            (tree / "tmp").mkdir(parents=True)
            (tree / "tmp").chmod(0o1777)
            self._fill(tree, entry, context)
            context.run(pack_command(tree, layer, epoch=epoch))
        write_layer(context, layer=layer, config=config(inputs), reference=str(entry.image), variants=variants)
        for name, artifact in context.needs.items():
            # Only artifacts that are completely in the image are listed, not a build root that lends single files.
            if artifact.kind == "files" or name == inputs.get("base"):
                context.components.extend(components_of(artifact.sbom))

    def _fill(self, tree: Path, entry: Entry, context: BuildContext) -> None:
        for inside, source in entry.inputs["files"].items():
            name, _, path = source.partition(":")
            artifact = context.needs[name]
            origin = (unpacked(artifact) if artifact.kind == "root" else artifact.path) / path
            target = tree / inside.lstrip("/")
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(origin, target)
            target.chmod(int(entry.inputs.get("modes", {}).get(inside, "755"), 8))
        for inside, to in entry.inputs.get("links", {}).items():
            link = tree / inside.lstrip("/")
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(to)


BUILDER = ProgramImage()
