"""Build boot images: the deploy ramdisk, and the disk image of the operating system.

The first of ``needs`` is the root in which the script ``make`` of ``supply/boot/<source>`` runs, without a network. The
others are beside the script: roots as ``<name>.tar``, files as ``<name>/``. So are ``files`` of that directory and
``common`` of ``supply/boot``, which the script copies over its result. Inputs: ``source``, ``files`` (the script's
results), ``zstd`` (which results to compress), ``packages`` (root -> Debian packages added to it first), ``firmware``
(packages of Debian's non-free-firmware, added to each root).
"""

from __future__ import annotations

import shutil
from pathlib import Path

from ...paths import COLLECTION
from ..cache.unpack import unpacked
from ..lock.model import Entry
from ..make import apt
from ..make.builder import Builder
from ..make.context import BuildContext
from ..make.sbom import debian_components

_SOURCES = COLLECTION / "supply/boot"
_MOUNT = "/boot-image"


class BootImage(Builder):
    """Run the script in a build root with its parts."""

    def sources(self, entry: Entry) -> tuple[Path, ...]:
        """Return the script, and the files copied over its result."""
        return (_SOURCES / entry.inputs["source"], _SOURCES / "common")

    def build(self, entry: Entry, context: BuildContext) -> None:
        """Lay out the script's files, run it, keep its results."""
        tools, *parts = entry.needs
        epoch = context.lock.pins.epoch
        work = context.scratch / "boot"
        shutil.copytree(_SOURCES / entry.inputs["source"], work)
        shutil.copytree(_SOURCES / "common", work / "common")
        for name in parts:
            self._lay_out(name, work, entry, context)
        context.say("putting the image together")
        environment = {"SOURCE_DATE_EPOCH": str(epoch)}
        context.chroot(tools).run([f"{_MOUNT}/make"], env=environment, binds={_MOUNT: work}, cwd=_MOUNT, network=False)
        for name in entry.inputs["files"]:
            if name in entry.inputs.get("zstd", ()):
                context.say(f"compressing {name}")
                context.run(["zstd", "-q", "-T1", "-10", "-o", context.output / name, work / name])
            else:
                shutil.move(work / name, context.output / name)

    def _lay_out(self, name: str, work: Path, entry: Entry, context: BuildContext) -> None:
        if context.lock.artifacts[name].kind != "root":
            shutil.copytree(context.needs[name].path, work / name)
            return
        root = context.chroot(name, layer=name)
        firmware = entry.inputs.get("firmware", ())
        packages = [*entry.inputs.get("packages", {}).get(name, ()), *firmware]
        if packages:
            context.say("installing packages")
            components = ("main", "non-free-firmware") if firmware else ("main",)
            apt.install(root, context, packages, work=context.scratch / "packages", components=components)
        root.pack(work / f"{name}.tar", epoch=context.lock.pins.epoch)
        suite = context.lock.artifacts[name].inputs.get("suite", context.lock.pins.suite)
        context.components.extend(debian_components(root.upper if packages else unpacked(context.needs[name]), suite))


BUILDER = BootImage()
