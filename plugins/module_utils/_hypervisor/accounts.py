"""Accounts of services: system users without a login, and the groups they are in."""

from __future__ import annotations

import grp
import pwd
from collections.abc import Sequence

from .._base.changes import Changes
from .._base.run import run


def ensure(changes: Changes, name: str, *, home: str, groups: Sequence[str] = ()) -> int | None:
    """Make the account ``name`` with a group of its own, in ``groups``; return the group's id, None when foreseen."""
    try:
        account = pwd.getpwnam(name)
    except KeyError:
        if not changes.add(f"make account {name}"):
            return None
        run(["useradd", "--system", "--user-group", "--home-dir", home, "--shell", "/usr/sbin/nologin", name])
        account = pwd.getpwnam(name)
    lacks = [one for one in groups if name not in _members(one)]
    if lacks and changes.add(f"put account {name} into {', '.join(lacks)}"):
        run(["usermod", "--append", "--groups", ",".join(lacks), name])
    return account.pw_gid


def group_id(name: str) -> int | None:
    """Return the id of a group, None when there is none yet."""
    try:
        return grp.getgrnam(name).gr_gid
    except KeyError:
        return None


def _members(name: str) -> list[str]:
    try:
        return grp.getgrnam(name).gr_mem
    except KeyError:
        return []
