"""Harden a host: no memory dumps of services, files of root readable by root only."""

from __future__ import annotations

import stat
from collections.abc import Mapping
from pathlib import Path

from .._base import files
from .._base.changes import Changes

LIMITS = Path("/etc/security/limits.d/90-groundup.conf")
COREDUMP = Path("/etc/systemd/coredump.conf.d/groundup.conf")
# `*` does not include root: limits.conf(5).
NO_CORES = {
    LIMITS: "* hard core 0\nroot hard core 0\n",
    COREDUMP: "[Coredump]\nStorage=none\nProcessSizeMax=0\n",
}
# The most permissive mode allowed for each path; a missing file is skipped.
MODES = {
    Path("/etc/ssh/sshd_config"): 0o600,
    Path("/etc/crontab"): 0o600,
    Path("/etc/shadow"): 0o640,
    Path("/etc/gshadow"): 0o640,
    Path("/boot/grub/grub.cfg"): 0o600,
}
# Made where missing: a package that comes later (Ceph's) keeps their mode, and would make them for everybody.
DIRECTORIES = {
    Path("/etc") / name: 0o700 for name in ("cron.d", "cron.hourly", "cron.daily", "cron.weekly", "cron.monthly")
}


def cores(changes: Changes, *, kept: bool) -> None:
    """Disable core dumps of login sessions and of systemd-coredump, unless ``kept``."""
    for path, text in NO_CORES.items():
        files.generate(changes, path, "" if kept else text)


def modes(
    changes: Changes, widest: Mapping[Path, int] = MODES, *, directories: Mapping[Path, int] = DIRECTORIES
) -> None:
    """Remove from each path the permissions beyond its ``widest`` mode, never add any; make missing ``directories``."""
    for path, mode in {**widest, **directories}.items():
        if not path.exists():
            if path in directories and changes.add(f"make {path}, mode {mode:04o}"):
                path.mkdir(mode)
            continue
        has = stat.S_IMODE(path.stat().st_mode)
        if has & ~mode and changes.add(f"set mode {has & mode:04o} of {path}, was {has:04o}"):
            path.chmod(has & mode)
