"""Manage service accounts: system users without a password, and their groups."""

from __future__ import annotations

import grp
import pwd
from collections.abc import Sequence

from .._base.changes import Changes
from .._base.run import run


def ensure(changes: Changes, name: str, *, home: str, login: str, groups: Sequence[str] = ()) -> int | None:
    """Create the account ``name`` with shell ``login``, its own group and ``groups``; return the id of its own group.

    Returns None in check mode when the account does not exist.
    """
    try:
        account = pwd.getpwnam(name)
    except KeyError:
        if not changes.add(f"make account {name}"):
            return None
        run(["useradd", "--system", "--user-group", "--home-dir", home, "--shell", login, name])
        account = pwd.getpwnam(name)
    if account.pw_shell != login and changes.add(f"set shell of account {name} to {login}"):
        run(["usermod", "--shell", login, name])
    lacks = [one for one in groups if name not in _members(one)]
    if lacks and changes.add(f"put account {name} into {', '.join(lacks)}"):
        run(["usermod", "--append", "--groups", ",".join(lacks), name])
    return account.pw_gid


def group_id(name: str) -> int | None:
    """Return the id of a group; None when it does not exist."""
    try:
        return grp.getgrnam(name).gr_gid
    except KeyError:
        return None


def _members(name: str) -> list[str]:
    try:
        return grp.getgrnam(name).gr_mem
    except KeyError:
        return []
