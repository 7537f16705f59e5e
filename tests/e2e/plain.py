"""Plain Debian machines, as an installer leaves them: sshd, Python, an account with sudo, and nothing of ours.

They are system containers on a bridge of their own, so that this machine can stand for a rack. What a container needs
to boot (masked units, shared mounts) is `module_utils/_container`'s; no package that a layer needs is in their images
(`rootfs-plain-*` of supply.lock), and they reach nothing but this machine and each other.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path

from ansible_collections.groundup.cloud.plugins.module_utils._base.files import write_file
from ansible_collections.groundup.cloud.plugins.module_utils._container import converge, network, rootfs, runtime
from ansible_collections.groundup.cloud.plugins.module_utils._container.model import (
    Interface,
    LabHost,
)
from ansible_collections.groundup.cloud.plugins.module_utils._container.names import Lab, link_name
from ansible_collections.groundup.cloud.plugins.module_utils._plan.container import NetworkPlan
from ansible_collections.groundup.cloud.plugins.plugin_utils.contact.host_keys import fingerprint
from ansible_collections.groundup.cloud.plugins.plugin_utils.paths import state_dir
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply import unpacked
from ansible_collections.groundup.cloud.plugins.plugin_utils.vault import STORE, password_source

USER = "ops"
LAN = "lan"
NIC, *MORE_NICS = "enp1s0", "enp2s0", "enp3s0", "enp4s0"  # names that no plan gives
# Debian's own mirror, which they do not reach: `.invalid` is nobody's (RFC 2606).
SOURCES = "deb http://mirror.invalid/debian {suite} main\n"
SUITES = {"13": "trixie", "12": "bookworm"}
# Whole file systems of their own: an overlay cannot lie on another.
VOLUMES = ("/var", "/opt", "/srv")
# What changes on a machine that is only logged in to, by its own services: logs, records of logins and timers.
PASSING = re.compile(r"/var/(log|tmp|lib/(systemd|lastlog|private))(/|$)|/\.ansible(/|$)|^upper/(tmp|root|home/[^/]+)$")


def _lan(number: int) -> str:
    return f"{LAN}{number or ''}"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlainMachine:
    """One machine."""

    name: str  # the installer's, not the plan's
    address: str
    release: str = "13"
    more: tuple[str | None, ...] = ()  # its address on each further network of its rack; None: a port without one


@dataclass(frozen=True, slots=True, kw_only=True)
class PlainRack:
    """Machines that share networks with this machine."""

    name: str  # what everything of it on this machine is called by
    gateway: str  # this machine's address on the network, a /24
    machines: tuple[PlainMachine, ...]
    more: tuple[str, ...] = ()  # this machine's address on further ones

    @property
    def home(self) -> Path:
        """Where all of it is, the operator's files too: always the same, so that what a killed test left is found."""
        return state_dir(self.name)

    @property
    def lab(self) -> Lab:
        """Where its machines are on this one."""
        return Lab(site=self.name, root=self.home / "machines")

    @property
    def operator_key(self) -> Path:
        """The private key of the operator, the only one the machines know."""
        return self.home / "operator"

    def install(self) -> None:
        """Make all machines anew, whatever an earlier test left, and wait until they accept ssh."""
        self.destroy()
        self.home.mkdir(parents=True, exist_ok=True)
        subprocess.run(
            ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "operator", "-f", str(self.operator_key)], check=True
        )
        for number, gateway in enumerate((self.gateway, *self.more)):
            cidr = f"{gateway.rpartition('.')[0]}.0/24"
            lan = NetworkPlan(
                name=_lan(number), purpose="management", cidr=cidr, gateway=gateway, vlan=None, mtu=1500
            )  # fmt: skip
            network.make_bridge(self.name, lan, network.links())
        for release, suite in SUITES.items():
            chosen = [machine for machine in self.machines if machine.release == release]
            converge.start(self.lab, [self._host(machine) for machine in chosen], self._spec(release))
            for machine in chosen:
                sources = self.root(machine) / "etc/apt/sources.list"
                write_file(sources, SOURCES.format(suite=suite).encode(), mode=0o644)

    def destroy(self) -> None:
        """Remove all machines and whatever else there is of them on this machine."""
        converge.remove(self.lab, converge.known(self.lab))
        converge.clear(self.lab)
        network.remove_links(network.links_of(self.name))
        shutil.rmtree(self.home, ignore_errors=True)
        # A site of the same name had its state there; the password goes last, as a store needs it while it exists.
        password_source(self.name).forget(self.home / STORE, write=True)

    def power_off(self, machine: PlainMachine) -> None:
        """End all of ``machine`` at once. Nobody is told: its cable is cut first."""
        self.run(machine, "ip", "link", "set", NIC, "down")
        runtime.stop(self.lab, machine.name)

    def cut(self, machine: PlainMachine) -> None:
        """Pull all cables of ``machine``; it goes on."""
        self._cables(machine, "link", "set", "{}", "down")

    def deafen(self, machine: PlainMachine) -> None:
        """Let no packet reach ``machine``, while what it sends arrives."""
        for cable in self._names(machine):  # a queue that holds no frame
            subprocess.run(["tc", "qdisc", "replace", "dev", cable, "root", "bfifo", "limit", "1"], check=True)

    def mend(self, machine: PlainMachine) -> None:
        """Undo `cut` and `deafen`."""
        for cable in self._names(machine):
            subprocess.run(["tc", "qdisc", "delete", "dev", cable, "root"], check=False, capture_output=True)
        self._cables(machine, "link", "set", "{}", "up")

    def freeze(self, machine: PlainMachine) -> None:
        """Stop every process of ``machine``; its kernel goes on."""
        subprocess.run(["runc", "--root", str(self.lab.runc), "pause", self.lab.id(machine.name)], check=True)

    def thaw(self, machine: PlainMachine) -> None:
        """Undo `freeze`."""
        subprocess.run(["runc", "--root", str(self.lab.runc), "resume", self.lab.id(machine.name)], check=True)

    def _names(self, machine: PlainMachine) -> list[str]:
        ports = (NIC, *MORE_NICS[: len(machine.more)])
        return [link_name(self.name, machine.name, port) for port in ports]

    def _cables(self, machine: PlainMachine, *command: str) -> None:
        for cable in self._names(machine):
            subprocess.run(["ip", *(word.format(cable) for word in command)], check=True)

    def power_on(self, machine: PlainMachine) -> None:
        """Start ``machine`` with what is on its disks."""
        converge.start(self.lab, [self._host(machine)], self._spec(machine.release))

    def root(self, machine: PlainMachine) -> Path:
        """Return where the root file system of ``machine`` is on this machine."""
        return self.lab.rootfs(machine.name)

    def host_key(self, machine: PlainMachine) -> str:
        """Return the public key of sshd of ``machine``, as whoever installed it would read it off."""
        return rootfs.host_key(self.lab, machine.name)

    def files(self, machine: PlainMachine) -> dict[str, tuple[int, int, int]]:
        """Return mode, size and time of change (ns) of everything on ``machine`` but logs and what a login leaves."""
        found = {}
        for top in (self.lab.home(machine.name) / "upper", *(self.lab.home(machine.name) / "volumes").iterdir()):
            for path in top.rglob("*"):
                if not PASSING.search(str(path.relative_to(self.lab.home(machine.name)))):
                    status = path.lstat()
                    found[str(path)] = (status.st_mode, status.st_size, status.st_mtime_ns)
        return found

    def run(self, machine: PlainMachine, *command: str) -> str:
        """Run a command inside ``machine``, as at its console."""
        enter = ["runc", "--root", str(self.lab.runc), "exec", self.lab.id(machine.name), *command]
        return subprocess.run(enter, capture_output=True, text=True, check=True).stdout

    def _host(self, machine: PlainMachine) -> LabHost:
        port = Interface(
            name=NIC, network=_lan(0), address=machine.address, prefix=24, mtu=1500, mac=None, gateway=self.gateway,
            offload=True,
        )  # fmt: skip
        # Guests' packets are carried by a switch in user space there: `module_utils/_container/model`, UNOFFLOADED.
        more = tuple(
            replace(
                port, name=MORE_NICS[number], network=_lan(number + 1), address=address, gateway=None, offload=False
            )
            for number, address in enumerate(machine.more)
        )
        return LabHost(name=machine.name, fqdn=machine.name, address=machine.address, interfaces=(port, *more))

    def personalize(self, root: Path, machine: PlainMachine) -> None:
        """Make ``root``, which is an image's, that of ``machine``: its names, its keys, the account of the operator."""
        rootfs.personalize(root, self._host(machine), account=self._account(), nameservers=())
        sources = SOURCES.format(suite=SUITES[machine.release])
        write_file(root / "etc/apt/sources.list", sources.encode(), mode=0o644)

    def _account(self) -> rootfs.LoginAccount:
        return rootfs.LoginAccount(
            user=USER, keys=(self.operator_key.with_suffix(".pub").read_text().strip(),), port=22
        )

    def _spec(self, release: str) -> converge.ContainerSpec:
        return converge.ContainerSpec(
            image=unpacked(f"rootfs-plain-{release}"),
            volumes=VOLUMES,
            account=self._account(),
            nameservers=(),
            timeout=300,
        )


# Two Debians of one release and one of the other; and the one machine of inventories/edge.
THREE = PlainRack(
    name="existing-machines",
    gateway="10.87.14.1",
    machines=(
        PlainMachine(name="debian-a", address="10.87.14.11"),
        PlainMachine(name="debian-b", address="10.87.14.21"),
        PlainMachine(name="debian-c", address="10.87.14.22", release="12"),
    ),
)
ONE = PlainRack(
    name="edge-machines",
    gateway="10.95.0.1",
    machines=(PlainMachine(name="debian-e", address="10.95.0.10", release="12"),),
)
# A cloud: its hypervisors have ports for tunnels and for the provider network, and are of both releases.
CLOUD = PlainRack(
    name="hypervisor-machines",
    gateway="10.87.15.1",
    more=("10.87.16.1", "10.87.17.1"),
    machines=(
        PlainMachine(name="debian-f", address="10.87.15.11", more=("10.87.16.11",)),
        PlainMachine(name="debian-g", address="10.87.15.31", release="12", more=("10.87.16.31", None)),
        PlainMachine(name="debian-h", address="10.87.15.32", more=("10.87.16.32", None)),
    ),
)
# inventories/ha: ports for tunnels, for the provider network and for storage.
HA = PlainRack(
    name="ha-machines",
    gateway="10.87.18.1",
    more=("10.87.19.1", "10.87.20.1", "10.87.21.1"),
    machines=(
        PlainMachine(name="debian-s", address="10.87.18.10"),
        *(
            PlainMachine(name=f"debian-{n}", address=f"10.87.18.{n}", more=(f"10.87.19.{n}", None, f"10.87.21.{n}"))
            for n in (11, 12, 13, 21, 22, 23, 31, 32)
        ),
    ),
)

# Of the molecule scenario `existing`, whose site has its name.
MOLECULE = PlainRack(
    name="molecule-existing",
    gateway="10.85.0.1",
    machines=(PlainMachine(name="debian-m", address="10.85.0.11"),),
)
# Its network is the site's, by test_host_network.py.
NETWORK = PlainRack(
    name="network-machines",
    gateway="10.87.15.1",
    machines=(PlainMachine(name="debian-n", address="10.87.15.11"),),
)
RACKS = {rack.name: rack for rack in (THREE, ONE, CLOUD, HA, MOLECULE, NETWORK)}


def main() -> None:
    """Make the machines of a rack, or remove those of one or (what a killed test left) of all."""
    verb, *names = sys.argv[1:] or ["destroy"]
    for rack in (RACKS[name] for name in names or RACKS):
        if verb == "destroy":
            rack.destroy()
            continue
        rack.install()
        keys = (rack.host_key(machine).split()[1] for machine in rack.machines)
        (rack.home / "fingerprints").write_text(",".join(map(fingerprint, keys)))


if __name__ == "__main__":
    main()
