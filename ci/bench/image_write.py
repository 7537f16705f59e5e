#!/usr/bin/env python3
"""How fast a machine's image is written, against a plain copy of the same bytes over the same network to the same disk.

One emulated machine (TCG): while its ramdisk inspects it, the ramdisk copies what the image has in it (the bytes of its
data, unpacked) from the seed by TLS to the disk, and syncs. Then Ironic's agent fetches the image and writes it.

Usage: ci/run python ci/bench/image_write.py       as root; `ci/bootstrap machine` before
Exit code: 0 within the bound, 1 below it.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
import tempfile
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from ansible_collections.groundup.cloud.plugins.module_utils._ironic import configuration, ramdisk
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.journal import Journal
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.provision import provision
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.way import MachineCard
from ansible_collections.groundup.cloud.tests.integration.host_root import HostRoot
from ansible_collections.groundup.cloud.tests.integration.metal import ironic as seed
from ansible_collections.groundup.cloud.tests.integration.metal.test_ironic import wanted
from ansible_collections.groundup.cloud.tests.unit import tls

SHARE = 0.70  # of the plain copy's bytes a second: the least
PATIENCE = 3600.0  # seconds without a step of its way
# In the place of our collector of disks.
COLLECTOR = f"""\
import os, ssl, time, urllib.request

def collect(data, failures):
    trust = ssl.create_default_context(cafile="/etc/groundup/site-ca.crt")
    began, copied = time.monotonic(), 0
    with urllib.request.urlopen("{seed.WANTED["media_url"]}/plain", context=trust) as plain:
        with open("/dev/vda", "r+b", buffering=0) as disk:
            while block := plain.read(2**20):
                copied += disk.write(block)
            os.fsync(disk.fileno())
    data["groundup_copy"] = [copied, time.monotonic() - began]
"""
FETCHED = re.compile(r"Image downloaded from \S+ in ([0-9.]+) seconds")
WRITTEN = re.compile(r"Image \S+ written to device \S+ in ([0-9.]+) seconds")


class _WrittenError(Exception):
    """The system is written: the rest is not measured."""


def main() -> int:
    """Measure, print, judge."""
    with tempfile.TemporaryDirectory(prefix="groundup-bench-") as scratch:
        copied, copy, fetched, written = _measure(Path(scratch))
    share = copy / (fetched + written)
    print(f"data of the image       {copied / 2**20:>8.0f} MiB")
    print(f"plain copy              {copy:>8.1f} s, {copied / 2**20 / copy:.1f} MiB/s")
    print(f"image                   {fetched + written:>8.1f} s: fetched in {fetched:.1f}, written in {written:.1f}")
    print(f"image to plain copy     {share:>8.0%}  (at least {SHARE:.0%})")
    return 0 if share >= SHARE else 1


def _measure(home: Path) -> tuple[int, float, float, float]:
    """Return the bytes and seconds of the copy, and the seconds in which the agent fetched and wrote the image."""
    install = seed._install

    def installed(host: HostRoot, artifacts: dict[str, Path], own: tls.Pair) -> None:
        install(host, artifacts, own)
        conf = host.at(configuration.CONF)
        conf.write_text(conf.read_text().replace("[agent]\n", "[agent]\ndeploy_logs_collect = always\n"))
        laid_under = ramdisk.archive(ramdisk.entries({"ca_certificate": own.certificate, "agent": COLLECTOR}))
        published = host.at(seed.RAMDISK) / "initramfs"
        host.at(configuration.INITRAMFS).write_bytes(laid_under + published.read_bytes())
        _lay_out(host.at(configuration.MEDIA))

    seed._install = installed
    told = list[Any]()

    def judge(found: dict[str, Any] | None) -> MachineCard | None:
        told.append((found or {})["plugin_data"]["groundup_copy"])
        return None

    def say(line: str) -> None:
        print(line, flush=True)
        if "for the first time" in line:
            raise _WrittenError

    with seed.loopback(home) as found:
        work, journal, ironic = replace(wanted(found), judge=judge), Journal(home / "journal"), found.ironic()
        with suppress(_WrittenError):
            found.inside(lambda: provision(ironic, work, journal, say, timeout=PATIENCE))
        text = _said(found.host.at(configuration.STATE / "logs"))
    return (*told[0], float(FETCHED.findall(text)[-1]), float(WRITTEN.findall(text)[-1]))


def _lay_out(media: Path) -> None:
    """Put the data of the image, without its holes, beside it."""
    raw, plain = media / "raw", media / "plain"
    subprocess.run(["qemu-img", "convert", "-O", "raw", media / "machine.qcow2", raw], check=True)
    with raw.open("rb") as source, plain.open("wb") as target:
        end, at = raw.stat().st_size, 0
        while at < end:
            try:
                at = os.lseek(source.fileno(), at, os.SEEK_DATA)
            except OSError:  # nothing but a hole is left
                break
            hole = os.lseek(source.fileno(), at, os.SEEK_HOLE)
            source.seek(at)
            while at < hole:
                at += target.write(source.read(min(2**20, hole - at)))
    raw.unlink()


def _said(logs: Path) -> str:
    """Return what the agent said, by the logs that Ironic collected of it."""
    (archive,) = logs.glob("*.tar.gz")
    with tarfile.open(archive) as opened:
        files = [opened.extractfile(member) for member in opened.getmembers() if member.isfile()]
        return "\n".join(file.read().decode(errors="replace") for file in files if file)


if __name__ == "__main__":
    sys.exit(main())
