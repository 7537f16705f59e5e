"""Operating system: one of those in the table of supported systems."""

from __future__ import annotations

import os
import platform
import re
import shlex
import sys
from collections.abc import Iterator

from .model import Fault, Machine, Wanted

_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


def release(machine: Machine) -> dict[str, str]:
    """Return the values of os-release."""
    text = machine.read("/etc/os-release") or machine.read("/usr/lib/os-release")
    found = {}
    for line in text.splitlines():
        name, sign, value = line.partition("=")
        if sign and not name.startswith("#"):
            try:
                found[name] = (shlex.split(value) or [""])[0]
            except ValueError:  # an open quotation mark
                found[name] = value
    return found


def check(machine: Machine, wanted: Wanted) -> Iterator[Fault]:
    """Yield what is not supported: distribution, release, architecture, init, Python, kernel."""
    if not wanted.systems:
        return
    system = release(machine)
    known = [
        one for one in wanted.systems if (one["id"], one["version"]) == (system.get("ID"), system.get("VERSION_ID"))
    ]
    supported = ", ".join(one["name"] for one in wanted.systems)
    if not known:
        shown = system.get("PRETTY_NAME") or f"{platform.system()} without an os-release"
        yield Fault("system", "error", f"{shown} is not supported", "/etc/os-release", f"install one of: {supported}")
        return
    one = known[0]
    if wanted.releases and one["version"] not in wanted.releases:
        yield Fault(
            "system", "error", f"the site serves no packages for {one['name']}", "/etc/os-release",
            f"""write "{one['version']}" into hosts.debian_releases of the site file""",
        )  # fmt: skip
    architecture = _ARCHITECTURES.get(platform.machine(), platform.machine())
    if architecture != one["architecture"]:
        yield Fault(
            "system", "error", f"the architecture {architecture} is not supported", platform.machine(),
            f"use {one['architecture']} machines",
        )  # fmt: skip
    init = machine.read("/proc/1/comm").strip()
    if init != "systemd":
        yield Fault(
            "system", "error", "systemd does not run as the first process", f"process 1 is {init or 'unknown'}",
            "install systemd-sysv and start the machine with it",
        )  # fmt: skip
    python = "{}.{}".format(*sys.version_info)
    if _order(python) < _order(one["python"]):
        yield Fault(
            "system", "error", f"modules run by Python {python}, older than {one['name']}'s own", sys.executable,
            f"let Ansible use /usr/bin/python3, which is {one['python']}",
        )  # fmt: skip
    kernel = platform.release()
    if not machine.contained and _order(kernel) < _order(one["kernel"]):
        yield Fault(
            "system", "warning", f"the kernel is older than {one['name']}'s own, {one['kernel']}", kernel,
            "boot the kernel of the package linux-image-amd64",
        )  # fmt: skip


def account(machine: Machine, wanted: Wanted) -> Iterator[Fault]:
    """Yield the account that modules run as when it is not root, and a missing sudo that the site's account needs."""
    if os.geteuid():
        yield Fault(
            "sudo", "error", "modules do not run as root", f"effective user id {os.geteuid()}",
            "give the account of access.user the right to become root by sudo, and leave ansible_become on",
        )  # fmt: skip
    if wanted.user != "root" and not machine.has("/usr/sbin/visudo"):
        yield Fault(
            "sudo", "error", f"there is no sudo, by which {wanted.user} becomes root", "/usr/sbin/visudo",
            "apt-get install sudo there, or write access.user: root into the site file",
        )  # fmt: skip


def _order(version: str) -> list[int]:
    return [int(part) for part in re.findall(r"\d+", version)[:2]]
