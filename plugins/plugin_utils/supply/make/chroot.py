"""Run commands inside a build root: own mount and process namespaces, the host's network, a writable layer per build.

The root is an unpacked ``root`` artifact and stays unchanged: a build writes into an overlay in its scratch directory.
All mounts are in the command's own mount namespace, so a killed build leaves none behind.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from . import machine
from .archive import pack_command
from .process import Commands, enclosed

TRUST = Path("/etc/ssl/certs")  # of this machine; a build gets a copy, because packages write there
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class Chroot:
    """A build root with a writable layer: ``upper`` is the tree of added and changed files."""

    def __init__(self, *, lower: Path, scratch: Path, commands: Commands) -> None:
        """Prepare the layer in ``scratch``, which must be on a file system that overlayfs accepts."""
        self._lower, self._commands = lower, commands
        self.upper, self._work, self._merged = scratch / "upper", scratch / "work", scratch / "merged"
        for directory in (self.upper, self._work, self._merged):
            directory.mkdir(parents=True, exist_ok=True)

    def run(
        self,
        command: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        binds: Mapping[str, Path] | None = None,
        cwd: str = "/",
        network: bool = True,
    ) -> None:
        """Run ``command`` inside, without a shell.

        ``env``: in addition to PATH, HOME and the machine's registry settings. ``binds``: path inside -> path of this
        machine, writable; created when missing. ``network``: False for steps that must not depend on it.
        """
        variables = {"PATH": _PATH, "HOME": "/root", "LANG": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive"}
        variables |= (machine.environment() if network else {}) | dict.fromkeys(machine.TRUSTED_BY, machine.CA_BUNDLE)
        variables |= dict(env or {})
        mounts = {"/etc/resolv.conf": Path("/etc/resolv.conf")}
        if (pip := machine.pip_configuration()) is not None:
            mounts["/etc/pip.conf"] = pip
        script = self._script({**mounts, **(binds or {})}, cwd)
        self._commands.run(
            enclosed(["/bin/sh", "-euc", script, "sh", *command], *([] if network else ["--net"])),
            what=f"{command[0]} in the build root", env=variables, shown=command,
        )  # fmt: skip

    def pack(self, archive: Path, *, epoch: int) -> None:
        """Pack root and layer as an uncompressed tar, without files only builds need; for ``epoch`` see ``archive``."""
        left_out = ("./dev/*", "./proc/*", "./sys/*", "./tmp/*", "./etc/pip.conf", "./root/.cache")
        # Both as lower layers: overlayfs modifies a writable layer while it is read, and tar reports changed files.
        options = f"ro,lowerdir={self.upper}:{self._lower}"
        script = f'mount -t overlay overlay -o {shlex.quote(options)} {shlex.quote(str(self._merged))}\nexec "$@"'
        command = pack_command(self._merged, archive, epoch=epoch, exclude=left_out)
        self._commands.run(enclosed(["/bin/sh", "-euc", script, "sh", *command]), what="packing a build root")

    def _script(self, binds: Mapping[str, Path], cwd: str) -> str:
        root = shlex.quote(str(self._merged))
        options = f"lowerdir={self._lower},upperdir={self.upper},workdir={self._work}"
        lines = [
            f"mount -t overlay overlay -o {shlex.quote(options)} {root}",
            f"mount -t proc proc {root}/proc",
            f"mount --rbind /dev {root}/dev",
            f"mount -t tmpfs tmpfs {root}/dev/shm",  # noqa: S108 - of the namespace, not the machine's
        ]
        trust = shlex.quote(f"{self._merged}/etc/ssl/certs")
        lines += [f"mkdir -p {trust}", f"mount -t tmpfs -o mode=0755 tmpfs {trust}"]
        lines.append(f"cp -a {shlex.quote(str(TRUST))}/. {trust}/")
        if machine.bundle() != machine.CA_BUNDLE:
            lines.append(
                f"cp --remove-destination {shlex.quote(machine.bundle())} {trust}/{Path(machine.CA_BUNDLE).name}"
            )
        for inside, outside in binds.items():
            target, source = shlex.quote(f"{self._merged}{inside}"), shlex.quote(str(outside))
            empty = f"mkdir -p $(dirname {target}); [ -e {target} ] || : > {target}"
            lines += [f"mkdir -p {target}" if outside.is_dir() else empty, f"mount --bind {source} {target}"]
        lines.append(f'exec chroot {root} /bin/sh -c \'cd "$1"; shift; exec "$@"\' sh {shlex.quote(cwd)} "$@"')
        return "\n".join(lines)
