"""Values that take each other's place without a gap: NAME.next before NAME is in use, NAME.former until it is dropped.

NAME is always what everything is to use: whatever run deploys while a rotation is open, deploys the right value. An
account that gets another user name with its password has it beside the password, as NAME-user.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from .names import USER, generate
from .store import Store

NEXT, FORMER = ".next", ".former"


def passing(name: str) -> bool:
    """Return whether ``name`` is of an open rotation, and nobody is deployed with it alone."""
    return name.endswith((NEXT, FORMER))


def is_open(store: Store, name: str) -> bool:
    """Return whether a rotation of ``name`` has begun and not ended."""
    return bool({name + NEXT, name + FORMER} & set(store.names()))


def stage(store: Store, names: Collection[str], *, users: Mapping[str, str]) -> tuple[str, ...]:
    """Generate next values (``users``: next user names by password) for those not in rotation; return them."""

    def change(values: dict[str, str]) -> tuple[str, ...]:
        new = sorted(name for name in names if not {name + NEXT, name + FORMER} & set(values))
        values |= {name + NEXT: generate(name) for name in new}
        values |= {name + USER + NEXT: users[name] for name in new if name in users}
        return tuple(new)

    return store.edit(change)


def swap(store: Store, names: Collection[str]) -> tuple[str, ...]:
    """Put the next value of those of ``names`` that have one in place of the present, which becomes the former."""

    def change(values: dict[str, str]) -> tuple[str, ...]:
        ready = sorted(name for name in names if name + NEXT in values)
        for name in [one + kind for one in ready for kind in ("", USER)]:
            if name + NEXT in values:
                if name in values:  # a user's first name is in no store
                    values[name + FORMER] = values[name]
                values[name] = values.pop(name + NEXT)
        return tuple(ready)

    return store.edit(change)


def end(store: Store, name: str) -> None:
    """Forget the former value of ``name``."""
    store.forget([name + FORMER, name + USER + FORMER])
