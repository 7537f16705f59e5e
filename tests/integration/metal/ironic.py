"""A seed's Ironic in the namespaces of a lab host, and a machine beside it: QEMU behind Redfish, on one loopback.

Its only cable ends at the seed, in the seed's network namespace: nothing of this machine's network is touched.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base.wait import wait_until
from ansible_collections.groundup.cloud.plugins.module_utils._ironic import (
    configuration,
    netboot,
    passwords,
    ramdisk,
    service,
)
from ansible_collections.groundup.cloud.plugins.module_utils._seed.configuration import PEM
from ansible_collections.groundup.cloud.plugins.plugin_utils import supply
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.api import Ironic
from ansible_collections.groundup.cloud.plugins.plugin_utils.paths import COLLECTION
from ansible_collections.groundup.cloud.tests.integration.host_root import HostRoot, host_root
from ansible_collections.groundup.cloud.tests.rack.machine import RackMachine
from ansible_collections.groundup.cloud.tests.unit import tls

SEED, CABLE = "10.0.2.2", "cable"
MAC, GUEST = "52:54:00:00:00:01", "10.0.2.15"
UUID = "6f7c2f0a-6d1b-4c57-9d0a-000000000001"
PASSWORD = "of-ironic"  # of this test's own service
ARTIFACTS = ("ironic-13", "deploy-ramdisk-13", "machine-13", "netboot-13")
RAMDISK = "/srv/groundup/ramdisk"
WANTED: dict[str, Any] = {
    "api_url": f"https://{SEED}:6385", "media_url": f"https://{SEED}:6386", "api_port": 6385, "media_port": 6386,
    "api_inside": 6388, "contact_inside": 6389, "machines_inside": 6390, "ramdisk": RAMDISK,
    "boot_url": f"http://{SEED}:6387", "discovery": True,
}  # fmt: skip
NETBOOT: dict[str, Any] = {
    "address": SEED, "seed_address": SEED, "cidr": "10.0.2.0/24", "gateway": None, "pool": ["10.0.2.100", "10.0.2.110"],
    "url": WANTED["boot_url"], "port": 6387, "domain": "lab.test", "names": {"registry.lab.test": SEED},
    "dns_servers": [], "ntp_servers": [],
}  # fmt: skip
_CLONE_NEWNET = 0x40000000
Found = TypeVar("Found")


@dataclass(frozen=True)
class Loopback:
    """The seed, its machine, and a way into their network."""

    host: HostRoot
    machine: RackMachine
    ca: str
    home: Path
    thread: ThreadPoolExecutor

    def inside(self, work: Callable[[], Found]) -> Found:
        """Return what ``work`` returns in the seed's network."""
        return self.thread.submit(work).result()

    def ironic(self) -> Ironic:
        """Return the controller's client."""
        (self.home / "ca.crt").write_text(self.ca)
        return Ironic(
            api=WANTED["api_url"], media=WANTED["media_url"], password=PASSWORD, ca=self.home / "ca.crt",
        )  # fmt: skip


@contextmanager
def loopback(home: Path) -> Iterator[Loopback]:
    """Give a seed whose Ironic answers, and a machine that is off."""
    if missing := supply.missing(ARTIFACTS):
        pytest.skip(f"not built on this machine: {', '.join(missing)}")
    if not Path("/usr/share/OVMF/OVMF_CODE_4M.fd").exists():
        pytest.skip("ci/bootstrap machine installs QEMU's firmware")
    artifacts = {name: found for name, found in supply.ensure(ARTIFACTS).items() if name in ARTIFACTS}
    own = tls.pair(address=SEED)
    with host_root(home / "root") as host, ThreadPoolExecutor(max_workers=1) as thread:
        (pid,) = [word for word in host.argv("true") if word.isdigit()]
        thread.submit(_enter, int(pid)).result()
        for words in (f"tuntap add {CABLE} mode tap", f"address add {SEED}/24 dev {CABLE}", f"link set {CABLE} up"):
            wired = host.run("ip", *words.split(), outside=True)
            assert wired.returncode == 0, wired.stdout
        _install(host, {name: artifact.path for name, artifact in artifacts.items()}, own)
        start(host)
        machine = RackMachine(
            home=home / "machine", name="worker-1", uuid=UUID, mac=MAC, address="127.0.0.1", password="of-the-bmc",
            network=("-netdev", f"tap,id=lan,ifname={CABLE},script=no,downscript=no"),
        )  # fmt: skip
        machine.start(inside=host.argv(outside=True))
        try:
            yield Loopback(host=host, machine=machine, ca=own.certificate, home=home, thread=thread)
        finally:
            machine.stop()


def start(host: HostRoot) -> None:
    """Start what the seed's units start, and wait until it answers."""
    home = configuration.PROGRAMS / "current"
    path = f"PATH={configuration.PROGRAMS}/bin:{home}/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    host.start("env", path, *configuration.BOUNDED, str(home / "bin/ironic"), "--config-file", str(configuration.CONF))
    files = [str(configuration.PASSWORDS), str(configuration.RUNNER_PASSWORDS)]
    contact = ["--port", "6389", "--passwords", *files, "--state", "/var/lib/ironic/machines"]
    host.start(str(home / "bin/python"), str(configuration.PROGRAMS / "bin/groundup-contact"), *contact)
    host.start("nginx", "-g", "daemon off;")
    libraries = f"LD_LIBRARY_PATH={netboot.PROGRAMS / 'lib'}"
    dnsmasq = [
        str(netboot.PROGRAMS / "dnsmasq"),
        "--keep-in-foreground",
        "--log-facility=-",
        f"--conf-file={netboot.CONF}",
    ]
    host.start("env", libraries, *dnsmasq, "--user=root")
    left = wait_until(lambda: _silent(host), timeout=300, pause=1)
    assert not left, f"{left}: {host.at('/tmp/env.log').read_text()[-2000:]}"  # noqa: S108  # of the seed


def _silent(host: HostRoot) -> str:
    done = host.run("curl", "--silent", "--fail", "--insecure", "--noproxy", "*", f"{WANTED['api_url']}/v1")
    return "" if done.returncode == 0 else f"curl ended with {done.returncode}"


def _install(host: HostRoot, artifacts: dict[str, Path], own: tls.Pair) -> None:
    home = configuration.PROGRAMS / "current"
    for path in (home, configuration.PROGRAMS / "bin", configuration.DIRECTORY, configuration.MEDIA):
        host.at(path).mkdir(parents=True)
    for name in service._OWN:
        host.at(configuration.STATE / name).mkdir()
    host.at(configuration.STATE).chmod(0o711)
    host.at(configuration.RAMDISK).chmod(0o711)
    archive = artifacts["ironic-13"] / "environment.tar.gz"
    subprocess.run(["tar", "-xzf", archive, "--no-same-owner", "-C", host.at(home)], check=True)
    for name in ("groundup-contact", "mkisofs"):
        program = host.at(configuration.PROGRAMS / "bin" / name)
        program.write_bytes((COLLECTION / "roles/ironic/files" / name).read_bytes())
        program.chmod(0o755)
    host.at(configuration.BOUNDS).parent.mkdir()
    bounds = (COLLECTION / "roles/ironic/files" / configuration.BOUNDS.name).read_bytes()
    host.at(configuration.BOUNDS).write_bytes(bounds)
    host.at(RAMDISK).mkdir(parents=True)
    subprocess.run(["cp", "-r", f"{artifacts['deploy-ramdisk-13']}/.", host.at(RAMDISK)], check=True)
    subprocess.run(["cp", artifacts["machine-13"] / "machine.qcow2", host.at(configuration.MEDIA)], check=True)
    _netboot(host, artifacts, own)
    found = configuration.values(WANTED, environment=home)
    host.at(configuration.CONF).write_text(configuration.conf(found))
    host.at(configuration.CA).write_text(own.certificate)
    host.at(PEM).write_text(own.certificate + own.key)
    host.at(configuration.WEB).write_text(configuration.web(found))
    hashed = host.run(str(home / "bin/python"), "-c", passwords.HASH, configuration.USER, "/nothing", input=PASSWORD)
    host.at(configuration.PASSWORDS).write_text(hashed.stdout)
    made = host.run(str(home / "bin/ironic-dbsync"), "--config-file", str(configuration.CONF), "create_schema")
    assert made.returncode == 0, made.stdout


def _netboot(host: HostRoot, artifacts: dict[str, Path], own: tls.Pair) -> None:
    """Lay out what the role does, from the same texts."""
    agent = (COLLECTION / "roles/ironic/files/groundup_agent.py").read_text()
    laid_under = ramdisk.archive(ramdisk.entries({"ca_certificate": own.certificate, "agent": agent}))
    published = (artifacts["deploy-ramdisk-13"] / "initramfs").read_bytes()
    host.at(configuration.INITRAMFS).write_bytes(laid_under + published)
    for path in (netboot.PROGRAMS, netboot.STATE, netboot.DIRECTORY, netboot.SCRIPTS):
        host.at(path).mkdir(parents=True)
    archive = artifacts["netboot-13"] / "netboot.tar.gz"
    subprocess.run(["tar", "-xzf", archive, "--no-same-owner", "-C", host.at(netboot.PROGRAMS)], check=True)
    found = netboot.values(NETBOOT, interface=CABLE, api_url=WANTED["api_url"], addresses=())
    texts = {
        **netboot.texts(found),
        **netboot.clock_texts(found),
        **netboot.scripts(found),
        netboot.WEB: netboot.web(found),
    }
    for path, text in texts.items():
        host.at(path).parent.mkdir(parents=True, exist_ok=True)
        host.at(path).write_text(text)
    host.at(netboot.SCRIPTS / "vmlinuz").symlink_to(f"{RAMDISK}/vmlinuz")
    host.at(netboot.SCRIPTS / "initramfs").symlink_to(configuration.INITRAMFS)


def _enter(pid: int) -> None:
    libc: Any = ctypes.CDLL(None, use_errno=True)
    handle = os.open(f"/proc/{pid}/ns/net", os.O_RDONLY)
    try:
        assert libc.setns(handle, _CLONE_NEWNET) == 0, os.strerror(ctypes.get_errno())
    finally:
        os.close(handle)
