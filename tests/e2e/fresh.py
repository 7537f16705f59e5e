"""A fresh Debian: what its installer leaves with "SSH server" and "standard system utilities", a machine of QEMU.

It carries a lab as a newcomer's machine does. What is put on it beside that: `git` and `make`; the key of its operator;
this machine's way to package registries, and CAs; a clone of this repository; and of this machine's cache what the site
needs, as a compiler is a hundred times slower there. `make bootstrap` ran on its disk before its first boot, for the
same reason. Started, it reaches nothing but itself.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from ansible_collections.groundup.cloud.plugins.module_utils._base.files import write_file
from ansible_collections.groundup.cloud.plugins.module_utils._container import machine as mounts
from ansible_collections.groundup.cloud.plugins.module_utils._container import rootfs
from ansible_collections.groundup.cloud.plugins.module_utils._container.model import LabHost
from ansible_collections.groundup.cloud.plugins.module_utils._container.names import Lab
from ansible_collections.groundup.cloud.plugins.plugin_utils import supply
from ansible_collections.groundup.cloud.plugins.plugin_utils.compose import site_plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.paths import COLLECTION, cache_dir, state_dir
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.make import machine as registries
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.make.process import enclosed
from ansible_collections.groundup.cloud.tests.e2e.qemu import Qemu
from ansible_collections.groundup.cloud.tests.e2e.waiting import until

SUITES = {"12": "bookworm", "13": "trixie"}
SITE = "inventories/lab/site.yml"
CLONE, CACHE = "/root/cloud", "root/.cache/groundup"
# By its slot, which QEMU is told, it has this name.
INTERFACES = b"auto lo\niface lo inet loopback\n\nallow-hotplug enp0s3\niface enp0s3 inet dhcp\n"
CARD = "addr=0x3"
AUTHORITIES = Path("/usr/local/share/ca-certificates")
# mkfs writes whole seconds: with other times, all that is in the cache would be read again, for half an hour.
TIMES = "import json, os, sys; [os.utime(path, ns=(time, time)) for path, time in json.load(sys.stdin).items()]"
BOOTSTRAP = """
mount -t proc proc "$0/proc"
mount --rbind /dev "$0/dev"
mount --bind /etc/resolv.conf "$0/etc/resolv.conf"
exec chroot "$0" sh -euc 'update-ca-certificates > /dev/null 2>&1; make -C "$0" bootstrap' "$1"
"""


@dataclass(frozen=True, kw_only=True)
class FreshDebian:
    """One machine."""

    release: str
    memory: str = "7G"

    @property
    def home(self) -> Path:
        """Where all of it is on this machine."""
        return state_dir(f"fresh-{self.release}")

    @cached_property
    def qemu(self) -> Qemu:
        """Its disk and its process."""
        return Qemu(
            name="fresh", home=self.home, memory=self.memory, disk_size="26G", console=self.home / "console.log"
        )

    @property
    def key(self) -> Path:
        """The private key of its operator."""
        return self.home / "operator"

    def install(self) -> None:
        """Write its disk."""
        self.destroy()
        self.home.mkdir(parents=True)
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.key], check=True)
        with self._root() as root:
            self._personalize(root)
            subprocess.run(["git", "clone", "-q", "--no-hardlinks", COLLECTION, root / CLONE.lstrip("/")], check=True)
            self._bootstrap(root)
            self._fill_cache(root / CACHE)
            self.qemu.write_disk(root)

    def power_on(self) -> None:
        """Start it, and wait until it lets its operator in."""
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        (self.home / "port").write_text(str(port))
        self.qemu.power_on(network=f"user,restrict=on,hostfwd=tcp:127.0.0.1:{port}-:22", card=CARD)

        def lets_in() -> bool:
            with contextlib.suppress(subprocess.SubprocessError):
                return bool(self.run("true") == "")
            return False

        until(lets_in, seconds=900)
        with (self.home / "times.json").open() as times:
            subprocess.run(self._ssh(f"python3 -c '{TIMES}'"), check=True, stdin=times, timeout=600)

    def destroy(self) -> None:
        """Remove it, whatever an earlier test left."""
        self.qemu.power_off()
        mounts.unmount(self.home)
        shutil.rmtree(self.home, ignore_errors=True)

    def run(self, command: str, *, seconds: float = 600.0) -> str:
        """Run a command on it as root and return its output. Raises CalledProcessError, TimeoutExpired."""
        done = subprocess.run(self._ssh(command), check=True, stdout=subprocess.PIPE, text=True, timeout=seconds)
        return done.stdout

    def follow(self, command: str, *, seconds: float) -> None:
        """Run a command on its clone, passing its output through. Raises CalledProcessError, TimeoutExpired."""
        subprocess.run(self._ssh(f"cd {CLONE} && SITE={SITE} {command} 2>&1"), check=True, timeout=seconds)

    def _ssh(self, command: str) -> list[str]:
        known = self.home / "known_hosts"
        options = (f"Port={(self.home / 'port').read_text()}", f"UserKnownHostsFile={known}", "ConnectTimeout=10")
        return ["ssh", "-i", str(self.key), *(f"-o{one}" for one in options), "root@127.0.0.1", command]

    @contextmanager
    def _root(self) -> Iterator[Path]:
        """Give the root file system of a fresh Debian, as a layer over it that is the machine's."""
        lab = Lab(site=f"fresh-{self.release}", root=self.home / "machines")
        lab.home("fresh").mkdir(parents=True)
        rootfs.mount(lab, "fresh", supply.unpacked(f"rootfs-fresh-{self.release}"))
        try:
            yield lab.rootfs("fresh")
        finally:
            mounts.unmount(self.home)
            shutil.rmtree(lab.root)

    def _personalize(self, root: Path) -> None:
        account = rootfs.LoginAccount(user="root", keys=(self.key.with_suffix(".pub").read_text().strip(),), port=22)
        host = LabHost(name="fresh", fqdn="fresh", address="127.0.1.1", interfaces=())
        rootfs.personalize(root, host, account=account, nameservers=())
        key = " ".join((root / "etc/ssh/ssh_host_ed25519_key.pub").read_text().split()[:2])
        (self.home / "known_hosts").write_text(f"* {key}\n")
        write_file(root / "etc/network/interfaces", INTERFACES, mode=0o644)
        sources = "".join(f"{line}\n" for line in registries.apt_lines(SUITES[self.release]))
        write_file(root / "etc/apt/sources.list", sources.encode(), mode=0o644)
        settings = "".join(f"{line}\n" for line in registries.apt_options())
        write_file(root / "etc/apt/apt.conf.d/90machine", settings.encode(), mode=0o644)
        if pip := registries.pip_configuration():
            shutil.copyfile(pip, root / "etc/pip.conf")
        for authority in AUTHORITIES.glob("*.crt"):
            shutil.copyfile(authority, root / str(authority).lstrip("/"))

    def _bootstrap(self, root: Path) -> None:
        policy = root / "usr/sbin/policy-rc.d"  # no service of this disk starts on this machine
        write_file(policy, b"#!/bin/sh\nexit 101\n", mode=0o755)
        environment = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root"}
        subprocess.run(
            enclosed(["sh", "-euc", BOOTSTRAP, root, CLONE]),
            check=True,
            env={**environment, **registries.environment()},
        )
        policy.unlink()

    def _fill_cache(self, cache: Path) -> None:
        """Show its cache the artifacts of the site: mounted, and copied when the disk is written."""
        names = (None, site_plan(COLLECTION / SITE).supply.chosen)
        artifacts = [one for some in names for one in supply.ensure(some).values()]
        store = cache_dir() / "artifacts"
        places = {store.joinpath(*one.path.relative_to(store).parts[:2]) for one in artifacts}
        files = (path for place in places for path in place.rglob("*") if path.is_file() and not path.is_symlink())
        times = {f"/{CACHE}/{path.relative_to(cache_dir())}": path.stat().st_mtime_ns for path in files}
        (self.home / "times.json").write_text(json.dumps(times))
        for place in (*places, supply.unpacked("rootfs-host")):
            there = cache / place.relative_to(cache_dir())
            there.mkdir(parents=True)
            subprocess.run(["mount", "--bind", place, there], check=True)


MACHINES = {release: FreshDebian(release=release) for release in SUITES}
if __name__ == "__main__":
    for one in MACHINES.values():  # what a killed test left
        one.destroy()
