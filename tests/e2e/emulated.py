"""A plain Debian machine with a kernel of its own: QEMU, without the processor's help, beside the containers of a rack.

Its root file system is that of a rack's machine (`plain.py`), with a kernel and without anything that a container
needs: systemd is its init, udev names its devices, modules are loaded, and there is no control group of version 1.
"""

from __future__ import annotations

import contextlib
import shlex
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ansible_collections.groundup.cloud.plugins.module_utils._base.files import write_file
from ansible_collections.groundup.cloud.plugins.module_utils._container import machine as mounts
from ansible_collections.groundup.cloud.plugins.module_utils._container import network, rootfs
from ansible_collections.groundup.cloud.plugins.module_utils._container.names import link_alias, link_name, mac
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply import unpacked
from ansible_collections.groundup.cloud.tests.e2e.plain import LAN, USER, PlainMachine, PlainRack
from ansible_collections.groundup.cloud.tests.e2e.qemu import Qemu
from ansible_collections.groundup.cloud.tests.e2e.waiting import until

NIC = "nic0"
NETWORK = """\
[Match]
MACAddress={mac}

[Network]
Address={address}/24
Gateway={gateway}
LinkLocalAddressing=no
"""


class EmulatedMachine:
    """One machine: its disk and its process."""

    def __init__(self, rack: PlainRack, machine: PlainMachine) -> None:
        """Name what belongs to it: all of it is below the rack's home, and goes with it."""
        self.rack, self.machine = rack, machine
        self.home = rack.lab.home(machine.name)
        self.qemu = Qemu(
            name=machine.name, home=self.home, memory="2560M", disk_size="12G", console=rack.lab.console(machine.name)
        )
        self._mac = mac(rack.name, machine.name)

    def install(self) -> None:
        """Write its disk, whole: one file system, the root of an image and what is this machine's own."""
        self.home.mkdir(parents=True)
        with self._root() as root:
            self.rack.personalize(root, self.machine)
            lan = NETWORK.format(mac=self._mac, address=self.machine.address, gateway=self.rack.gateway)
            write_file(root / "etc/systemd/network/10-lan.network", lan.encode(), mode=0o644)
            networkd = root / "etc/systemd/system/multi-user.target.wants/systemd-networkd.service"
            networkd.symlink_to("/usr/lib/systemd/system/systemd-networkd.service")
            self.qemu.write_disk(root)

    def power_on(self) -> None:
        """Start it, its network card on the rack's bridge."""
        tap = link_name(self.rack.name, self.machine.name, NIC)
        alias = link_alias(self.rack.name, self.machine.name, NIC)
        subprocess.run(["ip", "tuntap", "add", tap, "mode", "tap"], check=True)
        bridge = link_name(self.rack.name, LAN)
        subprocess.run(["ip", "link", "set", tap, "master", bridge, "alias", alias, "up"], check=True)
        self.qemu.power_on(network=f"tap,ifname={tap},script=no,downscript=no", card=f"mac={self._mac}")

    def power_off(self) -> None:
        """Take the power away, whatever an earlier test left on; its disk stays."""
        self.qemu.power_off()
        network.unwire(self.rack.lab, self.machine.name)

    def run(self, command: str) -> str:
        """Run a command on it as root, over the operator's ssh. Raises AssertionError, TimeoutExpired."""
        known = self.home / "known_hosts"
        known.write_text(f"{self.machine.address} {self.rack.host_key(self.machine)}\n")
        ssh = ["ssh", "-i", str(self.rack.operator_key), "-o", f"UserKnownHostsFile={known}", "-o", "ConnectTimeout=10"]
        login = [f"{USER}@{self.machine.address}", "sudo", "sh", "-c", shlex.quote(command)]
        done = subprocess.run([*ssh, *login], capture_output=True, text=True, check=False, timeout=300)
        assert done.returncode == 0, f"{command}: {done.stderr}"
        return done.stdout

    def await_login(self, *, booted: str = "") -> None:
        """Wait until it lets its operator in, after a boot other than ``booted``."""

        def lets_in() -> bool:
            with contextlib.suppress(AssertionError, subprocess.TimeoutExpired):
                return self.boot() != booted
            return False

        until(lets_in, seconds=600)

    def boot(self) -> str:
        """Return the name that its kernel gave this boot."""
        return self.run("cat /proc/sys/kernel/random/boot_id")

    def reboot(self) -> None:
        """Restart it in order, and wait until its operator is let in again."""
        before = self.boot()
        self.run("systemd-run --on-active=1 systemctl reboot")
        self.await_login(booted=before)

    def modules(self) -> set[str]:
        """Return the names of its loaded kernel modules."""
        return {line.split()[0] for line in self.run("cat /proc/modules").splitlines()}

    @contextmanager
    def _root(self) -> Iterator[Path]:
        """Give the root file system of the image, as a layer over it that is the machine's."""
        name = self.machine.name
        rootfs.mount(self.rack.lab, name, unpacked(f"rootfs-machine-{self.machine.release}"))
        try:
            yield self.rack.lab.rootfs(name)
        finally:
            mounts.unmount(self.home)


# Its control host is a container, as in `plain.py`: what is shown here is the worker.
RACK = PlainRack(
    name="kernel-machines",
    gateway="10.87.24.1",
    machines=(PlainMachine(name="debian-a", address="10.87.24.11"),),
)
WORKER = EmulatedMachine(RACK, PlainMachine(name="debian-k", address="10.87.24.21"))
if __name__ == "__main__":
    WORKER.power_off()  # what a killed test left
    RACK.destroy()
