"""Build Python environments for hosts: one compiled, relocatable tar archive.

``needs`` names a ``root`` artifact of the host's Debian release with compilers and headers: the environment uses the
system's own Python and libraries. Inputs: ``requirements`` (name of a hashed list), ``ldflags`` (for compiled code),
``omit`` (patterns below ``site-packages`` not needed at run time).
"""

from __future__ import annotations

import shutil
from pathlib import Path

from ...layers.systems import ENVIRONMENT
from ..lock.model import Entry
from ..make import virtualenv
from ..make.archive import pack_command
from ..make.builder import Builder
from ..make.context import BuildContext
from ..make.sbom import python_components

_PATH = "/opt/environment"


class Environment(Builder):
    """Run uv in a build root; the result is ``environment.tar.gz``, which any host's Python can unpack."""

    def sources(self, entry: Entry) -> tuple[Path, ...]:
        """Return the requirements, and those of the installer."""
        return (virtualenv.requirements(entry.inputs["requirements"]), virtualenv.INSTALLER)

    def build(self, entry: Entry, context: BuildContext) -> None:
        inputs, (base,) = entry.inputs, entry.needs
        root, work = context.chroot(base), context.scratch / "requirements"
        work.mkdir()
        virtualenv.install_installer(root, context, work=work)
        context.say("installing Python distributions")
        lock = virtualenv.requirements(inputs["requirements"])
        ldflags = inputs.get("ldflags", "")
        virtualenv.create(root, context, path=_PATH, lock=lock, work=work, ldflags=ldflags, relocatable=True)
        home = root.upper / _PATH.lstrip("/")
        (site,) = home.glob("lib/python3*/site-packages")
        context.components.extend(python_components(site))
        for pattern in inputs.get("omit", []):
            for directory in site.glob(pattern):
                shutil.rmtree(directory)
        context.say("compiling bytecode")
        virtualenv.compile_bytecode(root, [f"{_PATH}/lib"])
        context.say("packing")
        plain = context.scratch / "environment.tar"
        context.run(pack_command(home, plain, epoch=context.lock.pins.epoch))
        context.run(["gzip", "-n", "-6", plain])  # Debian 12's Python reads no newer format
        shutil.move(plain.with_suffix(".tar.gz"), context.output / ENVIRONMENT)


BUILDER = Environment()
