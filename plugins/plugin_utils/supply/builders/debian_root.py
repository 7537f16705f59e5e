"""Build root file systems of Debian packages: the host's operating system, and build roots.

Inputs: ``packages`` (names), ``installed`` and ``further`` (more names), ``disable`` and ``disable_further`` (systemd
units that a role enables later, or that no host needs), ``files`` (directory of this collection whose tree is copied
over the root), ``dpkg`` ("full", or "lean": without documentation and translations), ``variant`` (mmdebstrap's variant,
the base beside the packages: ``minbase``; ``essential``, without apt; ``standard``, as by the installer), ``suite``
(another Debian release than the pinned one).
"""

from __future__ import annotations

import shutil
from pathlib import Path

from ...paths import COLLECTION
from ..lock.model import Entry
from ..make import machine
from ..make.archive import pack_command
from ..make.builder import Builder
from ..make.context import BuildContext
from ..make.sbom import debian_components

_FILES = COLLECTION / "supply/rootfs"
# Files of one host, or of the machine that built it, must not be in an image of many hosts.
_NOT_SHIPPED = (
    "etc/apt/sources.list", "etc/apt/apt.conf.d/99mmdebstrap", "etc/hostname", "etc/resolv.conf", "etc/machine-id",
    "var/lib/dbus/machine-id",
    "etc/ssl/private/ssl-cert-snakeoil.key", "etc/ssl/certs/ssl-cert-snakeoil.pem",
)  # fmt: skip
_LEAN = ("usr/share/doc/*", "usr/share/man/*", "usr/share/locale/*", "usr/share/info/*", "usr/share/lintian/*")


class DebianRoot(Builder):
    """Run ``mmdebstrap`` for a suite, on the machine's own mirrors."""

    def sources(self, entry: Entry) -> tuple[Path, ...]:
        """Return the files copied over the root."""
        return (_FILES / entry.inputs["files"],) if "files" in entry.inputs else ()

    def build(self, entry: Entry, context: BuildContext) -> None:
        """Install the packages, remove files of one host, pack."""
        inputs = entry.inputs
        suite = inputs.get("suite", context.lock.pins.suite)
        root = context.scratch / "root"
        command = ["mmdebstrap", "--mode=root", f"--variant={inputs.get('variant', 'minbase')}"]
        names = [*inputs["packages"], *inputs.get("installed", ()), *inputs.get("further", ())]
        command.append(f"--include={','.join(names)}")
        command += [f"--aptopt={line}" for line in (*machine.apt_options(), *machine.apt_trust())]
        if inputs.get("dpkg") == "lean":
            command += [f"--dpkgopt=path-exclude=/{pattern}" for pattern in _LEAN]
            command.append("--dpkgopt=path-include=/usr/share/doc/*/copyright")
        context.say("installing packages")
        environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "SOURCE_DATE_EPOCH": str(context.lock.pins.epoch)}
        environment |= machine.environment() | {"TMPDIR": str(context.scratch)}
        context.run([*command, suite, root, *machine.apt_lines(suite)], env=environment)
        self._settle(root, entry, context)
        context.components.extend(debian_components(root, suite))
        context.say("packing")
        self._pack(root, context)

    def _settle(self, root: Path, entry: Entry, context: BuildContext) -> None:
        for name in _NOT_SHIPPED:
            (root / name).unlink(missing_ok=True)
        for key in (root / "etc/ssh").glob("ssh_host_*"):
            key.unlink()
        for directory in ("var/cache/apt", "var/lib/apt/lists", "var/log"):
            for path in (root / directory).rglob("*"):
                if path.is_file():
                    path.unlink()
        (root / "etc/machine-id").touch()
        if "files" in entry.inputs:
            shutil.copytree(_FILES / entry.inputs["files"], root, dirs_exist_ok=True)
        if disable := [*entry.inputs.get("disable", ()), *entry.inputs.get("disable_further", ())]:
            context.run(["chroot", root, "systemctl", "--quiet", "disable", *disable])

    def _pack(self, root: Path, context: BuildContext) -> None:
        plain = context.scratch / "root.tar"
        context.run(pack_command(root, plain, epoch=context.lock.pins.epoch, exclude=("./dev/*",)))
        context.run(["zstd", "-q", "-T0", "-3", "-o", context.output, plain])


BUILDER = DebianRoot()
