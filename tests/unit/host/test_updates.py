"""Who changes a host's packages, what never changes by itself, and how old packages are told to be."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.module_utils._host import apt, package_age, units, updates
from ansible_collections.groundup.cloud.plugins.plugin_utils.layers.layers import LAYERS
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import build_site, make_plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.types import HostSettings

NETWORKS = {"management": {"cidr": "10.96.0.0/22"}}
SITE = {"plugin": "groundup.cloud.site", "site": "s", "domain": "s.test", "networks": NETWORKS}
# Packages of layers that may change by themselves: their upgrade restarts nothing of the cloud, or only what is
# restarted without harm. A new package of a layer is written here or into HELD.
MAY = {"ca-certificates", "chrony", "dbus", "ethtool", "iproute2", "kmod", "openssl", "python3-yaml", "socat", "tzdata"}
MAY |= {"dosfstools", "e2fsprogs", "genisoimage", "ntfs-3g"}  # programs that nova-compute calls and that end
MAY |= {"prometheus-node-exporter"}  # its restart is a gap in the metrics of one host
MAY |= {"smartmontools"}  # a program that a timer calls and that ends
WANTED: dict[str, Any] = {"packages_url": None, "packages_suites": []}


def settings(profile: str, *, seed: bool = True, **hosts: object) -> HostSettings:
    machines = {
        role: {"count": 1, "provisioner": "existing"} for role in (("seed", "control") if seed else ("control",))
    }
    further = {} if seed else {"supply": {"registry": "r.example.org:443", "files_url": "https://r.example.org/files"}}
    return make_plan(build_site({**SITE, **further, "profile": profile, "machines": machines, "hosts": hosts})).host


@pytest.mark.parametrize(
    ("profile", "seed", "hosts", "choice"),
    [
        ("rack", True, {}, "site"),  # the seed has no security suite
        ("rack", True, {"packages": "host"}, "debian"),
        ("edge", False, {}, "debian"),
        ("lab", False, {}, "site"),
        ("region", True, {"packages": "host", "updates": "site"}, "site"),
        ("rack", True, {"packages_url": "http://m.example.org/debian"}, "site"),
    ],
)
def test_the_default_is_debian_where_hosts_reach_debian(
    profile: str, seed: bool, hosts: dict[str, object], choice: str
) -> None:
    assert settings(profile, seed=seed, **hosts).updates == choice


def test_each_package_of_a_layer_is_held_or_may_change_by_itself() -> None:
    every = {name for layer in LAYERS.values() for one in layer.installs for name in (*one.packages, *one.substitutes)}
    assert {name for name in every if not name.startswith(updates.HELD)} == MAY


@pytest.mark.parametrize(
    "name",
    [
        "containerd", "containerd.io", "kubelet", "openvswitch-switch", "ovn-host", "ovn-central", "qemu-system-x86",
        "libvirt0", "libvirt-daemon-system", "ceph-osd", "librados2", "mariadb-server", "galera-4", "rabbitmq-server",
        "haproxy", "keepalived",
    ],
)  # fmt: skip
def test_what_carries_the_cloud_is_held(name: str) -> None:
    assert name.startswith(updates.HELD)


@pytest.mark.parametrize("name", ["openssh-server", "linux-image-amd64", "libssl3t64", "sudo", "libc6", "systemd"])
def test_what_lets_people_in_is_not_held(name: str) -> None:
    assert not name.startswith(updates.HELD)


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """A host's units by name, off at first, and its places for files."""
    state = dict.fromkeys(updates.UNITS, "inactive")
    monkeypatch.setattr(updates, "CONFIGURATION", tmp_path / "90groundup-updates")
    monkeypatch.setattr(updates, "NEEDRESTART", tmp_path / "needrestart.conf")
    monkeypatch.setattr(units, "MARKS", tmp_path / "marks")

    def shown(name: str) -> str:
        file = "enabled" if state[name] == "active" else "disabled"
        return f"Id={name}\nLoadState=loaded\nActiveState={state[name]}\nSubState=x\nUnitFileState={file}\n"

    def run(argv: list[str], **_: object) -> str:
        names = [each for each in argv if each in state]
        if argv[:2] == ["systemctl", "show"]:
            return "\n".join(shown(name) for name in names)
        if argv[:2] == ["apt-config", "dump"]:
            return _dump(updates.CONFIGURATION)
        verb = {"start": "active", "disable": "inactive"}.get(argv[1])
        state.update(dict.fromkeys(names, verb) if verb else {})
        return ""

    monkeypatch.setattr(units, "run", run)
    monkeypatch.setattr(updates, "run", run)
    return state


def converged(choice: str, *, check: bool = False, **wanted: Any) -> Changes:
    changes = Changes(check=check)
    updates.converge(changes, {**WANTED, "updates": choice, **wanted})
    return changes


def test_the_choice_debian_is_set_up_once_and_undone_when_the_choice_changes(host: dict[str, str]) -> None:
    predicted = converged("debian", check=True)
    assert set(host.values()) == {"inactive"}
    assert not updates.CONFIGURATION.exists()
    assert converged("debian").done == predicted.done
    assert set(host.values()) == {"active"}
    assert converged("debian").done == []
    assert updates.faults({"updates": "debian"}) == []
    assert [line.partition(" ")[0] for line in updates.faults({"updates": "site"})] == list(updates.TIMERS)
    predicted = converged("site", check=True)
    assert converged("site").done == predicted.done
    assert set(host.values()) == {"inactive"}
    assert not updates.CONFIGURATION.exists()
    assert converged("site").done == []
    assert updates.faults({"updates": "site"}) == []


@pytest.mark.usefixtures("host")
def test_only_the_security_suite_comes_in_the_hold_list_holds_and_no_host_restarts() -> None:
    converged("debian")
    text = updates.CONFIGURATION.read_text()
    said = updates.effective(_dump(updates.CONFIGURATION))
    assert said["Unattended-Upgrade::Origins-Pattern::"] == [
        "origin=Debian,codename=${distro_codename}-security,label=Debian-Security"
    ]
    assert "^containerd" in said["Unattended-Upgrade::Package-Blacklist::"]
    assert said["Unattended-Upgrade::Automatic-Reboot"] == ["false"]
    assert "#clear Unattended-Upgrade::Origins-Pattern;" in text
    converged("debian", packages_url="http://m/debian", packages_suites=["trixie", "trixie-security"])
    said = updates.effective(_dump(updates.CONFIGURATION))
    assert said["Unattended-Upgrade::Origins-Pattern::"][1:] == ["codename=trixie-security", "archive=trixie-security"]


def test_a_file_of_the_host_that_says_otherwise_is_a_fault(host: dict[str, str]) -> None:
    converged("debian")
    with updates.CONFIGURATION.open("a") as stream:
        stream.write('Unattended-Upgrade::Automatic-Reboot "true";\n#clear Unattended-Upgrade::Package-Blacklist;\n')
    found = updates.faults({"updates": "debian"})
    assert "apt has Unattended-Upgrade::Automatic-Reboot true, not false" in found[0]
    assert "may upgrade ceph, " in found[1]
    host["apt-daily-upgrade.timer"] = "inactive"
    assert "apt-daily-upgrade.timer is off" in updates.faults({"updates": "debian"})[0]


def _dump(path: Path) -> str:
    """Return what apt itself reads in the file."""
    return subprocess.run(["apt-config", "-c", path, "dump"], check=True, capture_output=True, text=True).stdout


SIMULATED = """\
Reading package lists...
Inst libssl-dev [3.0.19-1~deb12u2] (3.0.22-1~deb12u2 Debian-Security:12/oldstable-security [amd64]) []
Inst bash [5.2.15-2+b8] (5.2.15-2+b13 Debian:12.15/oldstable [amd64])
Inst libgcrypt20 [1.10.1-3] (1.10.1-3+deb12u1 Debian:12.15/oldstable, Debian-Security:12/oldstable-security [amd64])
Inst linux-image-6.1.0-50-amd64 (6.1.170-1 Debian-Security:12/oldstable-security [amd64])
Inst libpam-modules-bin [1.5.2-6] (1.5.2-6+deb12u2 Debian:12.15/oldstable [amd64]) [libpam-modules:amd64 on x:amd64]
Conf bash (5.2.15-2+b13 Debian:12.15/oldstable [amd64])
"""


@pytest.fixture
def aged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[dict[str, Any], list[str]]]:
    """Return how old packages are said to be, for lists and packages of so many days ago."""
    lists, status = tmp_path / "lists", tmp_path / "status"
    (lists / "partial").mkdir(parents=True)
    monkeypatch.setattr(package_age, "LISTS", lists)
    monkeypatch.setattr(package_age, "STATUS", status)
    monkeypatch.setattr(package_age, "RESTART", tmp_path / "reboot-required")
    monkeypatch.setattr(apt, "OURS", tmp_path / "ours")
    status.touch()

    def read(
        choice: str, *, lists_of: Iterable[int] = (), changed: int = 0, said: str = "", fault: str = ""
    ) -> tuple[dict[str, Any], list[str]]:
        for number, days in enumerate(lists_of):
            dated = format_datetime(datetime.now(UTC) - timedelta(days=days), usegmt=True)
            (lists / f"{number}_InRelease").write_text(f"Origin: Debian\nDate: {dated}\nValid-Until: never\n")
            (lists / f"{number}_main_binary-amd64_Packages.lz4").touch()
        then = time.time() - changed * 86400
        os.utime(status, (then, then))
        done = subprocess.CompletedProcess([], 100 if fault else 0, said, fault)
        monkeypatch.setattr(package_age, "attempt", lambda _argv: done)
        return package_age.read(choice)

    return read


def test_packages_behind_are_told_with_what_is_offered_and_security_apart(
    aged: Callable[..., tuple[dict[str, Any], list[str]]],
) -> None:
    age, warnings = aged("site", lists_of=[20, 1], said=SIMULATED)
    assert [one["package"] for one in age["outdated"]] == ["bash", "libgcrypt20", "libpam-modules-bin", "libssl-dev"]
    assert {one["package"] for one in age["outdated"] if one["security"]} == {"libgcrypt20", "libssl-dev"}
    assert (age["outdated"][0]["installed"], age["outdated"][0]["offered"]) == ("5.2.15-2+b8", "5.2.15-2+b13")
    assert warnings == ["2 packages lack a security update that the host's sources have: libgcrypt20, libssl-dev"], (
        "the lists are of yesterday"
    )


@pytest.mark.parametrize(
    ("choice", "lists_of", "changed", "said"),
    [
        ("site", [29], 99, None),
        ("site", [31], 0, "the newest list of packages is of 31 days ago"),
        ("debian", [4], 0, "the newest list of packages is of 4 days ago"),
        ("debian", [], 1, "no list of packages was fetched"),
        ("site", [], 99, None),
    ],
)
def test_lists_that_are_old_are_told_also_when_apt_asked_in_vain_today(
    aged: Callable[..., tuple[dict[str, Any], list[str]]], choice: str, lists_of: list[int], changed: int,
    said: str | None,
) -> None:  # fmt: skip
    age, warnings = aged(choice, lists_of=lists_of, changed=changed)
    assert age["outdated"] == []
    assert age["changed"].startswith(f"{datetime.now(UTC) - timedelta(days=changed):%Y-%m-%d}")
    assert [line.partition(":")[0] for line in warnings] == ([said] if said else [])


def test_an_apt_that_cannot_say_is_told(aged: Callable[..., tuple[dict[str, Any], list[str]]]) -> None:
    _, warnings = aged("site", lists_of=[1], fault="E: Unmet dependencies.\nE: x\nE: y\n")
    assert warnings == ["apt cannot say what is newer: E: Unmet dependencies., E: x and 1 more"]


def test_a_host_of_the_seed_alone_is_asked_for_what_the_seed_offers(
    aged: Callable[..., tuple[dict[str, Any], list[str]]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seeds = tmp_path / "seed-lists"
    seeds.mkdir()
    (seeds / "seed_dists_trixie_main_binary-amd64_Packages").touch()
    monkeypatch.setattr(package_age, "SEED_LISTS", seeds)
    apt.OURS.touch()
    age, warnings = aged("site", said="Inst runc [1.1.15-1] (1.3.0-1 groundup:13/trixie [amd64])\n")
    assert [one["package"] for one in age["outdated"]] == ["runc"]
    assert age["lists"].startswith(f"{datetime.now(UTC):%Y-%m-%d}")
    assert warnings == []
