"""One machine of an emulated rack: a management controller (sushy-tools' Redfish) whose machine is a QEMU process.

Runs by the Python of `ci/rack`'s environment, one process a machine: `emulator.py SETTINGS.json`. It forks no library
of virtual machines: power on is a process, power off is its end, a boot device is an order of drives.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import ssl
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from sushy_tools.emulator import main as emulator
from sushy_tools.emulator.resources.systems.fakedriver import FakeDriver

CPU = ("-machine", "q35", "-accel", "tcg,thread=multi", "-cpu", "Nehalem")
PRIORITY = -5  # as `nice`, of the whole process: beside other tests the machine has most of a processor


class Machine:
    """The process, and what it is made from."""

    def __init__(self, settings: dict[str, Any]) -> None:
        """Take the settings; disk and firmware's variables are made when they are missing."""
        self.settings = settings
        self.home = Path(settings["home"])
        self.pid_file, self.disk, self.variables = (self.home / name for name in ("pid", "disk.raw", "variables.fd"))
        if not self.disk.exists():
            subprocess.run(["truncate", "--size", settings["disk"], self.disk], check=True)
        if not self.variables.exists():
            shutil.copyfile(settings["firmware_variables"], self.variables)

    @property
    def pid(self) -> int | None:
        """The process, None when the machine is off."""
        try:
            pid = int(self.pid_file.read_text())
            return pid if str(self.disk).encode() in Path(f"/proc/{pid}/cmdline").read_bytes() else None
        except (FileNotFoundError, ProcessLookupError, ValueError):
            return None

    def on(self, *, device: str, medium: str | None) -> None:
        """Start it from ``device`` (Cd, Hdd, Pxe)."""
        if self.pid:
            return
        first = dict.fromkeys(("Cd", "Hdd", "Pxe"), "") | {device: ",bootindex=0"}
        second = ",bootindex=1" if device != "Hdd" else ""
        drives = [
            "-drive", f"file={self.disk},format=raw,if=none,id=disk,cache=unsafe,discard=unmap",
            "-device", f"virtio-blk-pci,drive=disk,serial={self.settings['name']}{first['Hdd'] or second}",
        ]  # fmt: skip
        if self.settings["decoy"]:
            decoy = self.home / "decoy.raw"
            if not decoy.exists():
                subprocess.run(["truncate", "--size", "6G", decoy], check=True)
            drives += [
                "-drive", f"file={decoy},format=raw,if=none,id=decoy,cache=unsafe,discard=unmap",
                "-device", f"virtio-blk-pci,drive=decoy,serial={self.settings['name']}-decoy",
            ]  # fmt: skip
        if medium:
            drives += [
                "-drive", f"file={medium},format=raw,if=none,id=cd,media=cdrom,readonly=on",
                "-device", "virtio-scsi-pci,id=scsi", "-device", f"scsi-cd,drive=cd{first['Cd']}",
            ]  # fmt: skip
        firmware = self.settings["firmware"]
        subprocess.run(
            [
                "qemu-system-x86_64", "-name", self.settings["name"], *CPU, "-smp", str(self.settings["cores"]),
                "-m", self.settings["memory"], "-nodefaults", "-display", "none",
                "-smbios", f"type=1,serial={self.settings['serial']},uuid={self.settings['uuid']}",
                "-drive", f"if=pflash,format=raw,unit=0,readonly=on,file={firmware}",
                "-drive", f"if=pflash,format=raw,unit=1,file={self.variables}", *drives,
                *self.settings["network"],
                "-device", f"virtio-net-pci,netdev=lan,mac={self.settings['mac']},romfile={first['Pxe']}",
                "-device", "virtio-rng-pci", "-device", "VGA",
                "-chardev", f"file,id=console,path={self.home / 'console.log'},append=on", "-serial", "chardev:console",
                "-monitor", f"unix:{self.home / 'monitor'},server,nowait", "-daemonize", "-pidfile", self.pid_file,
            ],
            check=True,
        )  # fmt: skip
        with suppress(OSError):  # a kernel without it, or no right to: the machine is just slower beside others
            Path(f"/proc/{self.pid}/autogroup").write_text(str(PRIORITY))  # nice(1) ranks a daemon's threads alone

    def off(self) -> None:
        """Take its power away."""
        if pid := self.pid:
            os.kill(pid, signal.SIGKILL)
            while Path(f"/proc/{pid}").exists():
                time.sleep(0.1)
        self.pid_file.unlink(missing_ok=True)


class QemuDriver(FakeDriver):  # type: ignore[misc]  # sushy-tools ships no types
    """Redfish's system: its record is sushy-tools' own, its power is the process."""

    machine: Machine

    def get_power_state(self, identity: str) -> str:
        """Say whether it runs: a guest that switched itself off is off."""
        self._get(identity)
        return "On" if self.machine.pid else "Off"

    def set_power_state(self, identity: str, state: str) -> None:
        """Carry out a reset type of Redfish."""
        system = self._get(identity)
        if state in ("On", "ForceOn"):
            self._start(system)
        elif state in ("ForceOff", "GracefulShutdown"):
            self.machine.off()
        elif "Restart" in state or state == "PowerCycle":
            self.machine.off()
            self._start(system)

    def _start(self, system: dict[str, Any]) -> None:
        images = system.get("boot_image") or {}
        medium = (images.get("Cd") or (None,))[0]
        self.machine.on(device=system.get("boot_device", "Hdd"), medium=medium)

    def get_total_memory(self, identity: str) -> int:
        """Return GiB."""
        self._get(identity)
        return 2

    def get_total_cpus(self, identity: str) -> int:
        """Return the number of cores."""
        self._get(identity)
        return int(self.machine.settings["cores"])


def main() -> None:
    """Serve the controller until the process ends; the machine's power does not depend on it."""
    settings = json.loads(Path(sys.argv[1]).read_text())
    machine = Machine(settings)
    emulator.app.configure(
        extra_config={
            "SUSHY_EMULATOR_FAKE_DRIVER": True,
            "SUSHY_EMULATOR_STATE_DIR": settings["home"],
            "SUSHY_EMULATOR_AUTH_FILE": str(machine.home / "htpasswd"),
            "SUSHY_EMULATOR_FAKE_SYSTEMS": [
                {
                    "uuid": settings["uuid"], "name": settings["name"], "power_state": "Off",
                    "nics": [{"mac": settings["mac"], "ip": ""}],
                }
            ],
        }
    )  # fmt: skip
    QemuDriver.machine = machine
    emulator.fakedriver.FakeDriver = QemuDriver
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(settings["certificate"])
    emulator.app.run(host=settings["address"], port=settings["port"], ssl_context=context, threaded=True)


if __name__ == "__main__":
    main()
