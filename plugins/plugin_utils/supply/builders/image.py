"""Images of programs from other artifacts: on nothing at all, or on a Debian root file system.

Inputs: ``base`` (a needed ``root`` artifact; absent: nothing), ``files`` (path in the image -> ``artifact:path``),
``links`` (path in the image -> target), ``entrypoint``, ``env``, ``user``.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from ..build.builder import Builder
from ..build.context import BuildContext
from ..build.oci import ImageConfig, write_layer, write_tree
from ..build.sbom import components_of
from ..cache.unpack import unpacked
from ..lock.model import Entry


class ProgramImage(Builder):
    """One layer, the same bytes each time."""

    def build(self, entry: Entry, context: BuildContext) -> None:
        """Lay the tree out and write the archive."""
        inputs = entry.inputs
        labels = {"org.opencontainers.image.title": entry.name, "org.opencontainers.image.version": entry.version}
        config = ImageConfig(
            entrypoint=tuple(inputs.get("entrypoint", ())), user=inputs.get("user", ""), labels=labels,
            env={"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", **inputs.get("env", {})},
        )  # fmt: skip
        if "base" in inputs:
            root = context.chroot(inputs["base"])
            self._fill(root.upper, entry, context)
            layer = context.scratch / "layer.tar"
            root.pack(layer, epoch=context.lock.pins.epoch)
            write_layer(context, layer=layer, config=config, reference=str(entry.image))
        else:
            tree = context.scratch / "tree"
            (tree / "tmp").mkdir(parents=True)
            (tree / "tmp").chmod(0o1777)
            self._fill(tree, entry, context)
            write_tree(context, tree=tree, config=config, reference=str(entry.image))
        for name, artifact in context.needs.items():
            # A build root lends single files to an image: only what is whole inside is listed.
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
            target.chmod(0o755)
        for inside, to in entry.inputs.get("links", {}).items():
            link = tree / inside.lstrip("/")
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(to)


BUILDER = ProgramImage()
