"""Accounts of restored databases: a set from before a rotation has the passwords of then, and pods those of now."""

from __future__ import annotations

from ..plan.types import Plan
from ..vault import Store
from ..vault.rotation import FORMER, NEXT
from .accounts import of_plan
from .mariadb import MEMBER_HOSTS, identified


def statements(plan: Plan, store: Store) -> bytes:
    """Return the SQL that gives MariaDB's accounts the passwords that the store has, two while a rotation is open."""
    values = store.items()
    found = of_plan(plan, lambda name: name.endswith("/db") or name in MEMBER_HOSTS)
    return "".join(
        f"ALTER USER IF EXISTS {identified(one.user, passwords, MEMBER_HOSTS.get(one.secret, ('%',)))};\n"
        for one in found
        if (passwords := [values[one.secret + kind] for kind in ("", NEXT, FORMER) if one.secret + kind in values])
    ).encode()
