"""Machines with a kernel of their own: QEMU, without the processor's help."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path

from ansible_collections.groundup.cloud.plugins.module_utils._base.files import write_file
from ansible_collections.groundup.cloud.tests.e2e.waiting import until

FSTAB = b"/dev/vda / ext4 errors=remount-ro 0 1\n"


@dataclass(frozen=True, kw_only=True)
class Qemu:
    """One machine: its disk and its process. systemd is its init, and control groups are of version 2 alone."""

    name: str
    home: Path  # of its disk, its kernel and its process id
    memory: str
    disk_size: str
    console: Path  # what it prints
    cpus: str = "2"

    @property
    def disk(self) -> Path:
        """Its only one."""
        return self.home / "disk.raw"

    def write_disk(self, root: Path) -> None:
        """Write its disk, whole: one file system with what is below ``root``, whose kernel it boots."""
        write_file(root / "etc/fstab", FSTAB, mode=0o644)
        for name in ("vmlinuz", "initrd.img"):
            shutil.copyfile(root / name, self.home / name)
        self.disk.unlink(missing_ok=True)
        subprocess.run(["truncate", "--size", self.disk_size, self.disk], check=True)  # sparse
        subprocess.run(["mkfs.ext4", "-q", "-d", root, self.disk], check=True)

    def power_on(self, *, network: str, card: str) -> None:
        """Start it with one network card: ``network``, QEMU's words for its other end, and ``card``, for the card."""
        subprocess.run(
            [
                "qemu-system-x86_64", "-name", self.name, "-machine", "q35", "-accel", "tcg,thread=multi",
                "-cpu", "Nehalem", "-smp", self.cpus, "-m", self.memory, "-nodefaults", "-display", "none",
                "-kernel", self.home / "vmlinuz", "-initrd", self.home / "initrd.img",
                "-append", "root=/dev/vda ro quiet console=ttyS0 systemd.show_status=yes",
                "-drive", f"file={self.disk},format=raw,if=virtio,cache=unsafe,discard=unmap",
                "-netdev", f"{network},id=lan", "-device", f"virtio-net-pci,netdev=lan,{card}",
                "-device", "virtio-rng-pci",
                "-serial", f"file:{self.console}", "-daemonize", "-pidfile", self._pid_file,
            ],
            check=True,
        )  # fmt: skip

    def power_off(self) -> None:
        """Take the power away, whatever an earlier test left on; its disk stays."""
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            pid = int(self._pid_file.read_text())
            process = Path(f"/proc/{pid}")
            if str(self.disk).encode() in (process / "cmdline").read_bytes():
                os.kill(pid, signal.SIGKILL)
                until(lambda: not process.exists(), seconds=30)

    @property
    def _pid_file(self) -> Path:
        return self.home / "pid"
