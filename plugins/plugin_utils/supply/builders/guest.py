"""Build a guest: a small bootable disk image of Debian packages, for tests of a cloud and its users' first instance.

``needs`` names a ``root`` artifact with kernel, busybox, dropbear and the tools. The script ``make`` of
``supply/guest`` runs in it, without a network; the tree ``root`` beside it is copied over the guest's root file system.
The result is ``guest.qcow2``. Inputs: ``size_mib`` (of the disk; the root grows with the instance's disk).
"""

from __future__ import annotations

import shutil
from pathlib import Path

from ...paths import COLLECTION
from ..cache.unpack import unpacked
from ..lock.model import Entry
from ..make.builder import Builder
from ..make.context import BuildContext
from ..make.sbom import debian_components

_SOURCE = COLLECTION / "supply/guest"
_MOUNT = "/guest"


class GuestImage(Builder):
    """Run the script in a build root."""

    def sources(self, entry: Entry) -> tuple[Path, ...]:
        """Return the script and the files it copies over the root."""
        del entry
        return (_SOURCE,)

    def build(self, entry: Entry, context: BuildContext) -> None:
        """Run the script; keep the image."""
        (base,) = entry.needs
        work = context.scratch / "guest"
        shutil.copytree(_SOURCE, work)
        environment = {"SOURCE_DATE_EPOCH": str(context.lock.pins.epoch), "SIZE_MIB": str(entry.inputs["size_mib"])}
        context.say("making the disk")
        context.chroot(base).run([f"{_MOUNT}/make"], env=environment, binds={_MOUNT: work}, cwd=_MOUNT, network=False)
        shutil.move(work / "guest.qcow2", context.output / "guest.qcow2")
        context.components.extend(debian_components(unpacked(context.needs[base]), context.lock.pins.suite))


BUILDER = GuestImage()
