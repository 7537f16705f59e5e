"""Store the key with which QEMU opens volumes in Ceph: a libvirt secret, which domains refer to by its id."""

from __future__ import annotations

from dataclasses import dataclass, field
from xml.sax.saxutils import escape

from .._base.changes import Changes
from .._base.errors import GroundupError
from .._base.run import attempt, run
from .libvirt import VIRSH


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """A Ceph client's key."""

    uuid: str  # of the secret; Cinder passes it to Nova
    client: str  # "client.cinder"
    value: str = field(repr=False)  # as printed by Ceph


def own(changes: Changes, key: Key) -> None:
    """Store the key in libvirt; QEMU reads it when it opens a volume. Raises GroundupError."""
    held = holds(key)
    if held == key.value:
        return
    if not changes.add(f"{'give' if held is None else 'replace'} libvirt's key of {key.client}"):
        return
    if held is None:
        run([*VIRSH, "secret-define", "/dev/stdin"], stdin=_definition(key), why="no volume could be attached")
    # The key is never an argument or part of an error.
    done = attempt([*VIRSH, "secret-set-value", key.uuid, "--file", "/dev/stdin"], stdin=key.value)
    if done.returncode:
        raise GroundupError(
            f"libvirt does not take the key of {key.client}: {done.stderr.strip()}",
            where=f"secret {key.uuid}",
            why="no volume could be attached",
            remedy=f"virsh secret-dumpxml {key.uuid}",
        )


def holds(key: Key) -> str | None:
    """Return libvirt's value; "" for a secret without one, None without the secret or libvirt."""
    try:
        if attempt([*VIRSH, "secret-dumpxml", key.uuid], timeout=30).returncode:
            return None
        return attempt([*VIRSH, "secret-get-value", key.uuid], timeout=30).stdout.strip()
    except GroundupError:  # it is not installed yet
        return None


def _definition(key: Key) -> str:
    # Not private: the group libvirt may read it, and may attach any volume anyway, like root.
    return (
        "<secret ephemeral='no' private='no'>"
        f"<uuid>{escape(key.uuid)}</uuid>"
        f"<usage type='ceph'><name>{escape(key.client)} {escape(key.uuid)}</name></usage>"
        "</secret>\n"
    )
