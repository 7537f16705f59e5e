"""Check the operating system: release, account, clock, packages, kernel modules, control groups."""

from __future__ import annotations

import os
import platform
import re
import shlex
import sys
from collections.abc import Iterable, Iterator
from pathlib import PurePath

from .._base.text import few
from .._plan.preflight import Expected
from .model import MachineFacts, PreflightFault

_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
SKEW_WARNING, SKEW_ERROR = 15.0, 60.0  # seconds; the delay from the control node to here is included
# By unit name: two packages contain an ntpd.
_SERVICES = ("chrony.service", "systemd-timesyncd.service", "ntpsec.service", "openntpd.service", "ntpd-rs.service")
_STATES = re.compile(r"^Package: (\S+)\n(?:\S.*\n| .*\n)*?Status: \S+ (\S+) (\S+)$", re.MULTILINE)
_WHOLE = ("installed", "config-files", "not-installed")
CONTROLLERS = ("cpu", "cpuset", "io", "memory", "pids")  # the kubelet's and systemd's limits
_SHOWN = ("br_netfilter", "overlay")  # visible in /proc, whether modules or built in


def release(machine: MachineFacts) -> dict[str, str]:
    """Return the values of os-release."""
    text = machine.read("/etc/os-release") or machine.read("/usr/lib/os-release")
    found = {}
    for line in text.splitlines():
        name, sign, value = line.partition("=")
        if sign and not name.startswith("#"):
            try:
                found[name] = (shlex.split(value) or [""])[0]
            except ValueError:  # an unclosed quotation mark
                found[name] = value
    return found


def check(machine: MachineFacts, wanted: Expected) -> Iterator[PreflightFault]:
    """Yield unsupported distribution, release, architecture, init, Python or kernel."""
    if not wanted.systems:
        return
    system = release(machine)
    known = [
        one for one in wanted.systems if (one["id"], one["version"]) == (system.get("ID"), system.get("VERSION_ID"))
    ]
    supported = ", ".join(one["name"] for one in wanted.systems)
    if not known:
        shown = system.get("PRETTY_NAME") or f"{platform.system()} without an os-release"
        yield PreflightFault(
            "system", "error", f"{shown} is not supported", "/etc/os-release", f"install one of: {supported}"
        )
        return
    one = known[0]
    if wanted.releases and one["version"] not in wanted.releases:
        yield PreflightFault(
            "system", "error", f"the site serves no packages for {one['name']}", "/etc/os-release",
            f"""write "{one['version']}" into hosts.debian_releases of the site file""",
        )  # fmt: skip
    architecture = _ARCHITECTURES.get(platform.machine(), platform.machine())
    if architecture != one["architecture"]:
        yield PreflightFault(
            "system", "error", f"the architecture {architecture} is not supported", platform.machine(),
            f"use {one['architecture']} machines",
        )  # fmt: skip
    init = machine.read("/proc/1/comm").strip()
    if init != "systemd":
        yield PreflightFault(
            "system", "error", "systemd does not run as the first process", f"process 1 is {init or 'unknown'}",
            "install systemd-sysv and start the machine with it",
        )  # fmt: skip
    python = "{}.{}".format(*sys.version_info)
    if _order(python) < _order(one["python"]):
        yield PreflightFault(
            "system", "error", f"modules run by Python {python}, older than {one['name']}'s own", sys.executable,
            f"let Ansible use /usr/bin/python3, which is {one['python']}",
        )  # fmt: skip
    kernel = platform.release()
    if not machine.contained and _order(kernel) < _order(one["kernel"]):
        yield PreflightFault(
            "system", "warning", f"the kernel is older than {one['name']}'s own, {one['kernel']}", kernel,
            "boot the kernel of the package linux-image-amd64",
        )  # fmt: skip


def account(machine: MachineFacts, wanted: Expected) -> Iterator[PreflightFault]:
    """Yield an account of modules that is not root, and a missing sudo for the site's account."""
    if os.geteuid():
        yield PreflightFault(
            "sudo", "error", "modules do not run as root", f"effective user id {os.geteuid()}",
            "give the account of access.user the right to become root by sudo, and leave ansible_become on",
        )  # fmt: skip
    if wanted.user != "root" and not machine.has("/usr/sbin/visudo"):
        yield PreflightFault(
            "sudo", "error", f"there is no sudo, by which {wanted.user} becomes root", "/usr/sbin/visudo",
            "apt-get install sudo there, or write access.user: root into the site file",
        )  # fmt: skip


def _order(version: str) -> list[int]:
    return [int(part) for part in re.findall(r"\d+", version)[:2]]


def skew(machine: MachineFacts, wanted: Expected) -> Iterator[PreflightFault]:
    """Yield a clock that differs too much from the control node's."""
    if wanted.controller_time is None:
        return
    ahead = machine.now - wanted.controller_time
    for limit, severity in ((SKEW_ERROR, "error"), (SKEW_WARNING, "warning")):
        if abs(ahead) > limit:
            yield PreflightFault(
                "clock", severity, f"the clock differs from the control node's by more than {limit:g} s",
                f"{abs(ahead):.0f} s {'ahead' if ahead > 0 else 'behind'}",
                "start its time service, or set it by timedatectl set-time: certificates would not be valid",
            )  # fmt: skip
            return


def time_service(machine: MachineFacts, _wanted: Expected) -> Iterator[PreflightFault]:
    """Yield a time service that is installed but disabled, and several that compete."""
    installed = [unit for unit in _SERVICES if machine.has(f"/usr/lib/systemd/system/{unit}")]
    wanted_by = ("sysinit.target.wants", "multi-user.target.wants")
    started = [
        unit for unit in installed if any(machine.has(f"/etc/systemd/system/{target}/{unit}") for target in wanted_by)
    ]
    ptp = sorted({
        unit for target in wanted_by for unit in machine.names(f"/etc/systemd/system/{target}")
        if unit.startswith(("phc2sys", "timemaster", "ptpd", "sfptpd")) and unit.endswith(".service")
    })  # fmt: skip
    if ptp and not started:
        return  # the clock follows a network card's, by PTP
    if installed and not started and not machine.contained:
        yield PreflightFault(
            "clock", "error", f"the time service {installed[0]} is installed and disabled", installed[0],
            f"systemctl enable --now {installed[0]} (systemctl unmask it first, where it is masked)",
        )  # fmt: skip
    elif len(started) > 1:
        yield PreflightFault(
            "clock", "warning", f"several services set the clock: {', '.join(started)}", ", ".join(started),
            "keep one of them",
        )  # fmt: skip


def packages(machine: MachineFacts, wanted: Expected) -> Iterator[PreflightFault]:
    """Yield packages that are partly installed, and an interrupted dpkg."""
    if not machine.has("/usr/bin/dpkg"):
        return  # not Debian: reported by `system`
    broken = [
        name
        for name, fault, state in _STATES.findall(machine.read("/var/lib/dpkg/status"))
        if state not in _WHOLE or fault != "ok"
    ]
    if any(_locked(machine, file) for file in ("lock", "lock-frontend")):
        yield PreflightFault(
            "packages", "warning", "apt or dpkg is at work on the host", "/var/lib/dpkg/lock",
            "none: what installs packages waits for it",
        )  # fmt: skip
        return  # its packages are partly installed meanwhile
    # After a killed run of ours, the next run repairs the packages.
    severity = "warning" if machine.known and machine.site in ("", wanted.site) else "error"
    if broken:
        yield PreflightFault(
            "packages", severity, "packages are half installed", few(broken, most=3),
            "dpkg --configure -a, then apt-get install -f",
        )  # fmt: skip
    elif any(name.isdigit() for name in machine.names("/var/lib/dpkg/updates")):
        yield PreflightFault(
            "packages", severity, "dpkg was interrupted", "/var/lib/dpkg/updates", "dpkg --configure -a"
        )


def _locked(machine: MachineFacts, name: str) -> bool:
    try:
        state = machine.path(f"/var/lib/dpkg/{name}").stat()
    except OSError:
        return False
    # 1: POSIX  ADVISORY  WRITE 812 08:01:394012 0 EOF
    file = f" {os.major(state.st_dev):02x}:{os.minor(state.st_dev):02x}:{state.st_ino} "
    return file in machine.read("/proc/locks")


def modules_home() -> str:
    """Return the directory of the running kernel's loadable modules."""
    return f"/lib/modules/{platform.release()}"


def unknown_modules(machine: MachineFacts, names: Iterable[str]) -> list[str]:
    """Return those of ``names`` that are neither built in, nor loaded, nor on the disk."""
    home = modules_home()
    known = {_canonical(line.split()[0]) for line in machine.read("/proc/modules").splitlines() if line}
    known |= {_canonical(line.split()[-1]) for line in machine.read("/proc/filesystems").splitlines() if line}
    known |= {_canonical(name) for name in machine.names("/sys/module")}
    for listed in ("modules.builtin", "modules.dep"):
        for line in machine.read(f"{home}/{listed}").splitlines():
            known.add(_canonical(PurePath(line.partition(":")[0]).name.partition(".ko")[0]))
    if machine.has("/proc/sys/net/bridge/bridge-nf-call-iptables"):
        known.add("br_netfilter")
    return [name for name in names if _canonical(name) not in known]


def shown_modules(names: Iterable[str]) -> list[str]:
    """Return those of ``names`` that /proc shows also where they are built into a kernel without a list of them."""
    return [name for name in names if _canonical(name) in _SHOWN]


def modules(machine: MachineFacts, wanted: Expected) -> Iterator[PreflightFault]:
    """Yield kernel modules that the host lacks."""
    home, missing = modules_home(), unknown_modules(machine, wanted.kernel_modules)
    if machine.contained and not machine.has(home):
        # The modules are those of the machine below; built-in ones are visible only in part.
        if shown := shown_modules(missing):
            yield PreflightFault(
                "kernel-modules", "error", f"the kernel of the machine below has no {', '.join(shown)}", "/proc",
                "load them on the machine below",
            )  # fmt: skip
    elif missing and not machine.has(home):
        yield PreflightFault(
            "kernel-modules", "error", f"the running kernel's modules are not on the disk: {', '.join(missing)}", home,
            "restart the machine: its kernel was replaced",
        )  # fmt: skip
    elif missing:
        yield PreflightFault(
            "kernel-modules", "error", f"the kernel has no {', '.join(missing)}", home,
            "install the package linux-image-amd64 (a cloud kernel may lack modules) and boot it",
        )  # fmt: skip


def control_groups(machine: MachineFacts, wanted: Expected) -> Iterator[PreflightFault]:
    """Yield control groups of version 1, and controllers missing for the kubelet."""
    root = "/sys/fs/cgroup"
    controllers = machine.read(f"{root}/cgroup.controllers").split()
    if not controllers:
        if wanted.node and not wanted.cgroup_v1:
            yield PreflightFault(
                "cgroup", "error", "control groups are of version 1, or not mounted", root,
                "boot with systemd.unified_cgroup_hierarchy=1; the kubelet refuses version 1",
            )  # fmt: skip
        return
    missing = [name for name in CONTROLLERS if name not in controllers]
    if wanted.node and missing:
        yield PreflightFault(
            "cgroup", "error", f"no control group controller {', '.join(missing)}", f"{root}/cgroup.controllers",
            "take cgroup_disable= off the kernel's command line",
        )  # fmt: skip


def _canonical(name: str) -> str:
    return name.replace("-", "_")
