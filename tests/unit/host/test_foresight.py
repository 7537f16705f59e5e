"""What an upgrade of a host would change is read from apt, dpkg and the maps of processes."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._host import foresight, mapped, simulation, updates
from ansible_collections.groundup.cloud.plugins.module_utils._host.simulation import PackageChange

# Of apt 2.6.1 (Debian 12), with packages made by dpkg-deb.
SIMULATED = """\
Reading package lists...
Building dependency tree...
Calculating upgrade...
The following packages will be REMOVED:
  gone
The following NEW packages will be installed:
  extra
The following packages have been kept back:
  held
The following packages will be upgraded:
  one two
2 upgraded, 1 newly installed, 1 to remove and 1 not upgraded.
Remv gone [1.0]
Inst extra (3.0 localhost [all])
Inst one [1.0-1] (1.0-2+deb13u1 localhost [all])
Inst two [1.0-1] (1.1-1 localhost [all])
Conf extra (3.0 localhost [all])
Conf one (1.0-2+deb13u1 localhost [all])
Conf two (1.1-1 localhost [all])
"""
# The same, of Debian's archives: sources with labels, a foreign architecture, pending configurations.
OF_DEBIAN = """\
Inst libssl-dev [3.0.19-1~deb12u2] (3.0.22-1~deb12u2 Debian-Security:12/oldstable-security [amd64]) []
Inst libc6:i386 [2.36-9+deb12u10] (2.36-9+deb12u13 Debian:12.15/oldstable [i386]) [libc6:amd64 on libc6:i386]
Inst libgcrypt20 [1.10.1-3] (1.10.1-3+deb12u1 Debian:12.15/oldstable, Debian-Security:12/oldstable-security [amd64])
Inst linux-image-6.1.0-50-amd64 (6.1.170-1 Debian-Security:12/oldstable-security [amd64])
Inst bash [5.2.15-2+b8] (5.2.15-2+b13 Debian:12.15/oldstable [amd64])
Conf bash (5.2.15-2+b13 Debian:12.15/oldstable [amd64])
"""
# Of a Debian 12 with systemd 252, after an upgrade of openssl: code and data, a library that is gone, code made at run
# time, a file with a space in its name.
MAPS = """\
55d0c0a00000-55d0c0a1b000 r--p 00000000 fe:01 1441827                    /usr/sbin/nginx
55d0c0a1b000-55d0c0b34000 r-xp 0001b000 fe:01 1441827                    /usr/sbin/nginx
7f1b8e000000-7f1b8e0a4000 r-xp 00051000 fe:01 1443310                    /usr/lib/x86_64-linux-gnu/libssl.so.3 (deleted)
7f1b8e200000-7f1b8e355000 r-xp 00026000 fe:01 1442001                    /usr/lib/x86_64-linux-gnu/libc.so.6
7f1b8e400000-7f1b8e401000 r-xp 00000000 fe:01 1442002                    /opt/a name/plugin.so
7f1b8e500000-7f1b8e501000 r--s 00000000 fe:01 1442009                    /usr/share/locale/locale-archive
7f1b8e600000-7f1b8e601000 r-xp 00000000 00:01 2055                       /memfd:libffi (deleted)
7f1b8e700000-7f1b8e701000 rwxp 00000000 00:1f 91                         /tmp/ffiabcd (deleted)
7f1b8e800000-7f1b8e801000 r-xp 00000000 00:00 0
7ffd5a9e4000-7ffd5a9e6000 r-xp 00000000 00:00 0                          [vdso]
"""


def test_new_upgraded_removed_and_kept_packages_are_told_apart() -> None:
    found = simulation.parse(SIMULATED)
    assert found.changes == [
        PackageChange(package="extra", before="", after="3.0", security=False),
        PackageChange(package="one", before="1.0-1", after="1.0-2+deb13u1", security=False),
        PackageChange(package="two", before="1.0-1", after="1.1-1", security=False),
    ]
    assert (found.removed, found.kept) == (["gone"], ["held"])


def test_of_debians_archives_security_and_architectures_are_told() -> None:
    found = simulation.parse(OF_DEBIAN)
    assert {one.package: one.security for one in found.changes} == {
        "libssl-dev": True, "libc6:i386": False, "libgcrypt20": True, "linux-image-6.1.0-50-amd64": True, "bash": False,
    }  # fmt: skip
    assert (found.removed, found.kept) == ([], [])


def test_nothing_to_upgrade_is_nothing() -> None:
    said = "Reading package lists...\n0 upgraded, 0 newly installed, 0 to remove and 0 not upgraded.\n"
    assert simulation.parse(said) == simulation.Simulation(changes=[], removed=[], kept=[])


def test_only_code_of_packages_counts_as_run() -> None:
    assert mapped.executables(MAPS) == {
        "/usr/sbin/nginx", "/usr/lib/x86_64-linux-gnu/libssl.so.3 (deleted)", "/usr/lib/x86_64-linux-gnu/libc.so.6",
        "/opt/a name/plugin.so",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("cgroup", "unit"),
    [
        ("0::/system.slice/nginx.service\n", "nginx.service"),
        ("0::/system.slice/system-getty.slice/getty@tty1.service\n", "getty@tty1.service"),
        ("0::/init.scope\n", "init.scope"),
        ("0::/user.slice/user-1000.slice/session-3.scope\n", "sessions"),
        ("0::/user.slice/user-1000.slice/user@1000.service/init.scope\n", "sessions"),
        ("12:cpuset:/\n1:name=systemd:/system.slice/ssh.service\n0::/\n", "ssh.service"),
        ("0::/\n", "other processes"),
        ("0::/machine.slice/machine-qemu\\x2d1\\x2da.scope/libvirt/emulator\n", "machine-qemu\\x2d1\\x2da.scope"),
    ],
)
def test_a_process_belongs_to_the_innermost_unit(cgroup: str, unit: str) -> None:
    assert mapped.unit_of(cgroup) == unit


def process(
    proc: Path, number: int, *, root: str = "host", unit: str = "nginx.service", program: str = "nginx"
) -> None:
    """Write a process with the maps of above."""
    place = proc / str(number)
    place.mkdir(parents=True)
    (proc.parent / root).mkdir(exist_ok=True)
    (place / "root").symlink_to(proc.parent / root)
    (place / "exe").symlink_to(f"/usr/sbin/{program}")
    (place / "maps").write_text(MAPS)
    (place / "cgroup").write_text(f"0::/system.slice/{unit}\n")


def test_processes_of_containers_are_left_out_and_guests_counted(tmp_path: Path) -> None:
    proc = tmp_path / "proc"
    process(proc, 7)
    process(proc, 8, root="container", unit="pod.scope")
    process(proc, 9, unit="guest.scope", program="qemu-system-x86_64 (deleted)")
    (proc / "10").mkdir()  # it has ended
    (proc / "self").symlink_to("7")
    found = mapped.read(proc)
    assert set(found.used) == {"nginx.service", "guest.scope"}
    assert found.removed["nginx.service"] == {"/usr/lib/x86_64-linux-gnu/libssl.so.3"}
    assert "/usr/sbin/nginx" in found.used["nginx.service"]
    assert found.guests == 1


def test_a_unit_restarts_when_it_runs_a_file_or_its_own_file_is_of_the_package() -> None:
    used = {"nginx.service": {"/usr/sbin/nginx", "/usr/lib/libc.so.6"}, "a.service": {"/usr/bin/python3.13"},
            "init.scope": {"/usr/lib/libc.so.6"}, "idle.service": {"/usr/bin/idle"}}  # fmt: skip
    files = {"libc6": {"/usr/lib/libc.so.6"}, "nginx": {"/usr/sbin/nginx"}, "a": {"/usr/lib/systemd/system/a.service"}}
    assert foresight.restarts(files, used) == {"a.service": ["a"], "nginx.service": ["libc6", "nginx"]}


def test_what_needs_a_reboot_is_named() -> None:
    packages = ["linux-image-6.1.0-50-amd64", "linux-image-amd64", "linux-libc-dev", "libc6", "libc6-dev", "libc6:i386",
                "systemd", "systemd-timesyncd", "dbus", "openssl"]  # fmt: skip
    assert foresight.reboots(packages) == ["dbus", "libc6", "libc6:i386", "linux-image-6.1.0-50-amd64", "systemd"]


def test_files_of_a_package_are_named_as_maps_name_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(foresight, "INFO", tmp_path)
    (tmp_path / "libssl3:amd64.list").write_text("/.\n/lib/x86_64-linux-gnu/libssl.so.3\n/usr/share/doc\n")
    (tmp_path / "libssl3-dev.list").write_text("/usr/include\n")
    merged = str(Path("/lib/x86_64-linux-gnu/libssl.so.3").resolve())
    assert foresight.files_of("libssl3") == {"/.", merged, "/usr/share/doc"}
    assert foresight.files_of("libssl3:amd64") == foresight.files_of("libssl3")
    assert foresight.files_of("libssl3:i386") == set()


def test_the_newest_kernel_is_so_by_dpkgs_order() -> None:
    versions = {"linux-image-6.1.0-9-amd64": "6.1.27-1", "linux-image-6.1.0-50-amd64": "6.1.170-1",
                "linux-image-6.1.0-10-amd64": "6.1.38-4~bpo"}  # fmt: skip
    assert foresight.newest(sorted(versions), versions) == "linux-image-6.1.0-50-amd64"


@pytest.mark.parametrize(
    ("package", "step"),
    [
        ("containerd", "containers"), ("openvswitch-switch", "openvswitch"), ("python3-openvswitch", "openvswitch"),
        ("ovn-host", "ovn"), ("mariadb-server", "database"), ("qemu-system-x86", "guests"), ("libvirt0", "guests"),
        ("ceph-osd", "ceph"), ("haproxy", "edge"), ("libc6", ""), ("openssh-server", ""),
    ],
)  # fmt: skip
def test_what_carries_the_cloud_has_a_step_of_its_own(package: str, step: str) -> None:
    assert updates.step_of(package) == step
    assert bool(step) is package.startswith(updates.HELD)
