"""Who changes installed packages: runs of the site alone, or unattended-upgrades too, by the security suite only."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from .._base import files
from .._base.changes import Changes
from .._base.run import run
from . import units

PACKAGE = "unattended-upgrades"
TIMERS = ("apt-daily.timer", "apt-daily-upgrade.timer")
UNITS = (*TIMERS, f"{PACKAGE}.service")
CONFIGURATION = Path("/etc/apt/apt.conf.d/90groundup-updates")
NEEDRESTART = Path("/etc/needrestart/conf.d/groundup.conf")
# Beginnings of names of packages whose upgrade restarts what carries the cloud, or changes it under its feet: on every
# host in one night that is an outage. Libraries of Ceph, QEMU and libvirt go with their programs.
# Each with the name of what an administrator upgrades in one step.
_HELD: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("ceph", ("ceph", "libceph", "librados", "librbd", "librgw", "libsqlite3-mod-ceph", "python3-ceph", "python3-rados",
              "python3-rbd", "python3-rgw", "radosgw", "rbd-")),
    ("containers", ("containerd", "containernetworking-", "cri-tools", "docker", "etcd", "kubeadm", "kubectl",
                    "kubelet", "kubernetes-", "podman", "runc")),
    ("guests", ("libvirt", "qemu-", "swtpm")), ("openvswitch", ("openvswitch-",)), ("guests", ("ovmf",)),
    ("ovn", ("ovn-",)),
    ("openvswitch", ("python3-openvswitch",)),
    ("edge", ("conntrack", "iptables", "keepalived", "haproxy", "nftables")),
    ("database", ("galera-", "libmariadb", "mariadb-")), ("queue", ("erlang-",)), ("cache", ("memcached",)),
    ("queue", ("rabbitmq-",)),
    ("seed", ("dnsmasq", "nginx")),
)  # fmt: skip
HELD = tuple(name for _, names in _HELD for name in names)
STEPS = tuple(sorted({step for step, _ in _HELD}))
_SECURITY = "origin=Debian,codename=${distro_codename}-security,label=Debian-Security"
_SWITCHES = {
    "APT::Periodic::Enable": "1",
    "APT::Periodic::Update-Package-Lists": "1",
    "APT::Periodic::Unattended-Upgrade": "1",
    "Unattended-Upgrade::Automatic-Reboot": "false",
    "Unattended-Upgrade::InstallOnShutdown": "false",
    "Unattended-Upgrade::Remove-Unused-Dependencies": "false",
    "Unattended-Upgrade::MinimalSteps": "true",
}
_ORIGINS, _HOLD = "Unattended-Upgrade::Origins-Pattern", "Unattended-Upgrade::Package-Blacklist"


def step_of(package: str) -> str:
    """Return the step that a held ``package`` is upgraded in; "" for one that is not held."""
    return next((step for step, names in _HELD if package.startswith(names)), "")


def packages(wanted: Mapping[str, Any]) -> list[str]:
    """Return the packages that the site's choice needs."""
    return [PACKAGE] if wanted["updates"] == "debian" else []


def converge(changes: Changes, wanted: Mapping[str, Any]) -> None:
    """Set up unattended-upgrades, or turn it off, as ``wanted["updates"]`` says. Raises GroundupError."""
    if wanted["updates"] == "site":
        units.off(changes, UNITS)
        for path in (CONFIGURATION, NEEDRESTART):
            files.remove(changes, path)
        return
    files.generate(changes, CONFIGURATION, configuration(mirrored(wanted)))
    # Where needrestart is installed, it must not restart in the night what the hold list spares.
    files.generate(changes, NEEDRESTART, "$nrconf{restart} = 'l';\n")
    for name in UNITS:
        # The package, where a dry run only predicts it, brings its unit enabled.
        if units.properties(name, "LoadState").get("LoadState") != "not-found":
            units.Unit(changes, name, on_change=None).running()


def mirrored(wanted: Mapping[str, Any]) -> list[str]:
    """Return the security suites of the site's mirror; none without a mirror."""
    return [name for name in wanted["packages_suites"] if name.endswith("-security")] if wanted["packages_url"] else []


def configuration(suites: Sequence[str]) -> str:
    """Return the apt.conf(5) of unattended-upgrades: only the security suite, and ``suites`` of a mirror.

    A list of another file is replaced where it says what may come in, and added to where it says what is held.
    """
    origins = [_SECURITY, *(f"{key}={suite}" for suite in suites for key in ("codename", "archive"))]
    lines = [f'{name} "{value}";' for name, value in _SWITCHES.items()]
    lines += ["#clear Unattended-Upgrade::Allowed-Origins;", f"#clear {_ORIGINS};"]
    for name, values in ((_ORIGINS, origins), (_HOLD, [f"^{name}" for name in HELD])):
        lines += [f"{name} {{", *(f"  {json.dumps(value)};" for value in values), "};"]
    return "\n".join(lines) + "\n"


def faults(wanted: Mapping[str, Any]) -> list[str]:
    """Return a line for each thing on the host that is not as ``wanted["updates"]`` says. Raises GroundupError."""
    on = [name for name in TIMERS if units.properties(name, "ActiveState").get("ActiveState") in units.ACTIVE]
    if wanted["updates"] == "site":
        return [f"{name} is on: packages change by themselves, and hosts.updates is site" for name in on]
    found = [
        f"{name} is off: no security update comes, and hosts.updates is debian" for name in TIMERS if name not in on
    ]
    said = effective(run(["apt-config", "dump"]))
    for name, value in _SWITCHES.items():
        if said.get(name) != [value]:
            found.append(f"apt has {name} {' '.join(said.get(name, ['unset']))}, not {value}: see /etc/apt/apt.conf.d")
    free = [name for name in HELD if f"^{name}" not in said.get(f"{_HOLD}::", ())]
    if free:
        found.append(f"unattended-upgrades may upgrade {', '.join(free)}: see {_HOLD} in /etc/apt/apt.conf.d")
    return found


def effective(dump: str) -> dict[str, list[str]]:
    """Return the values by name in the output of ``apt-config dump``. The name of a list ends with ``::``."""
    found: dict[str, list[str]] = {}
    for line in dump.splitlines():
        name, _, value = line.rstrip(";").partition(" ")
        found.setdefault(name, []).append(value.strip('"'))
    return found
