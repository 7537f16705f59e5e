"""Build a host's root file system: an overlay over the unpacked image, with the host's own identity."""

from __future__ import annotations

import contextlib
import os
import shutil
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from .._base.errors import GroundupError
from .._base.run import run
from .machine import mounts_below
from .model import LabHost
from .names import Lab

# Units for hardware, consoles or an own kernel, which a container lacks.
MASKED = (
    *("systemd-udevd.service", "systemd-udevd-kernel.socket", "systemd-udevd-control.socket"),
    *("systemd-udev-trigger.service", "systemd-udev-settle.service", "systemd-modules-load.service"),
    *("systemd-logind.service", "systemd-networkd.service", "systemd-networkd.socket"),
    *("systemd-networkd-wait-online.service", "systemd-networkd-varlink.socket"),
    *("getty.target", "console-getty.service", "getty-static.service"),
    *("sys-kernel-debug.mount", "sys-kernel-tracing.mount", "sys-kernel-config.mount", "dev-hugepages.mount"),
    *("sys-fs-fuse-connections.mount", "proc-sys-fs-binfmt_misc.automount", "dev-mqueue.mount"),
)
# kubelet shares mounts with its pods; a container's root is private by default.
SHARED_MOUNTS = """\
[Unit]
Description=Share mounts with the namespaces of services and pods
DefaultDependencies=no
Before=local-fs-pre.target

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/usr/bin/mount --make-rshared /

[Install]
WantedBy=sysinit.target
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoginAccount:
    """The account that the control node logs in with."""

    user: str
    keys: tuple[str, ...]
    port: int


def mount(lab: Lab, host: str, image: Path) -> None:
    """Mount the root file system of ``host``, always over the image of its first start. Raises GroundupError."""
    home, target = lab.home(host), lab.rootfs(host)
    lower = home / "image"
    if not lower.is_symlink():
        lower.symlink_to(image)
    if not (lower / "etc").is_dir():
        raise GroundupError(
            f"{host}: the image it was made from is no longer there",
            where=f"{lower.readlink()}",
            why="its root file system is an overlay of it",
            remedy="destroy the lab and make it anew",
        )
    for directory in (home / "upper", home / "work", target):
        directory.mkdir(exist_ok=True)
    if mounts_below(target):
        return
    options = f"lowerdir={lower.resolve()},upperdir={home / 'upper'},workdir={home / 'work'}"
    run(["mount", "-t", "overlay", "-o", options, lab.id(host), str(target)])


def prepare(
    lab: Lab, host: LabHost, *, volumes: Sequence[str], account: LoginAccount, nameservers: Sequence[str]
) -> None:
    """Set up the mounted root file system for ``host``, once in its life. Raises GroundupError."""
    home, root = lab.home(host.name), lab.rootfs(host.name)
    for path in volumes:
        _volume(root, home / "volumes", path)
    done = home / "prepared"
    if done.exists():
        return
    personalize(root, host, account=account, nameservers=nameservers)
    _system(root)
    done.touch()


def personalize(root: Path, host: LabHost, *, account: LoginAccount, nameservers: Sequence[str]) -> None:
    """Give the root file system of an image the names, keys and account of ``host``. Raises GroundupError."""
    _identity(root, host, nameservers)
    _login(root, host, account)


def host_key(lab: Lab, host: str) -> str:
    """Return the public ssh host key of ``host``, from its file system."""
    kind, key = (lab.home(host) / "upper/etc/ssh/ssh_host_ed25519_key.pub").read_text().split()[:2]
    return f"{kind} {key}"


def _volume(root: Path, volumes: Path, path: str) -> None:
    """Create the volume for ``path``, as a copy of the image's content there."""
    volume, original = volumes / path.strip("/"), root / path.strip("/")
    original.mkdir(parents=True, exist_ok=True)
    if volume.exists():
        return
    volume.parent.mkdir(parents=True, exist_ok=True)
    begun = volume.with_name(f".{volume.name}.new")
    shutil.rmtree(begun, ignore_errors=True)
    run(["cp", "--archive", str(original), str(begun)])
    begun.rename(volume)


def _identity(root: Path, host: LabHost, nameservers: Sequence[str]) -> None:
    _write(root / "etc/hostname", f"{host.name}\n")
    _write(root / "etc/machine-id", f"{uuid.uuid4().hex}\n", mode=0o444)
    _write(root / "etc/hosts", f"127.0.0.1 localhost\n::1 localhost\n{host.address} {host.fqdn} {host.name}\n")
    domain = host.fqdn.partition(".")[2]
    lines = [f"search {domain}"] if domain else []
    _write(root / "etc/resolv.conf", "\n".join([*lines, *(f"nameserver {server}" for server in nameservers)]) + "\n")


def _system(root: Path) -> None:
    units = root / "etc/systemd/system"
    for unit in MASKED:
        (units / unit).unlink(missing_ok=True)
        (units / unit).symlink_to("/dev/null")
    _write(units / "groundup-shared-mounts.service", SHARED_MOUNTS)
    wants = units / "sysinit.target.wants" / "groundup-shared-mounts.service"
    wants.parent.mkdir(exist_ok=True)
    wants.unlink(missing_ok=True)
    wants.symlink_to("../groundup-shared-mounts.service")
    _write(root / "etc/systemd/system.conf.d/10-groundup.conf", "[Manager]\nDefaultTimeoutStopSec=5s\n")
    # The kernel log belongs to the machine, not to the host.
    _write(root / "etc/systemd/journald.conf.d/10-groundup.conf", "[Journal]\nReadKMsg=no\n")
    (root / "usr/lib/modules").mkdir(exist_ok=True)


def _login(root: Path, host: LabHost, account: LoginAccount) -> None:
    ssh = root / "etc/ssh"
    for old in ssh.glob("ssh_host_*"):
        old.unlink()  # all machines made from an image would share its keys
    key = ssh / "ssh_host_ed25519_key"
    run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", host.fqdn, "-f", str(key)])
    _write(ssh / "sshd_config.d/10-groundup.conf", f"Port {account.port}\nPasswordAuthentication no\n")
    if account.user != "root":
        with contextlib.suppress(GroundupError):  # no such user yet
            run(["chroot", str(root), "userdel", "--remove", account.user])
        run(["chroot", str(root), "useradd", "--create-home", "--shell", "/bin/bash", account.user])
        _write(root / "etc/sudoers.d/10-groundup", f"{account.user} ALL=(ALL) NOPASSWD: ALL\n", mode=0o440)
    uid, gid, home = _account(root, account.user)
    directory = root / home.strip("/") / ".ssh"
    directory.mkdir(mode=0o700, exist_ok=True)
    _write(directory / "authorized_keys", "".join(f"{key}\n" for key in account.keys), mode=0o600)
    for path in (directory, directory / "authorized_keys"):
        os.chown(path, uid, gid)


def _account(root: Path, user: str) -> tuple[int, int, str]:
    for line in (root / "etc/passwd").read_text().splitlines():
        name, _, uid, gid, _, home, _ = line.split(":")
        if name == user:
            return int(uid), int(gid), home
    raise GroundupError(
        f"the image has no user {user}, and none could be made",
        where=str(root),
        why="the control node logs in as it",
        remedy="correct access.user in the site file",
    )


def _write(path: Path, text: str, *, mode: int = 0o644) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)  # may be a link that points outside the image
    path.write_text(text)
    path.chmod(mode)
