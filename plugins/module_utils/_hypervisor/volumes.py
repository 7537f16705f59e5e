"""The key by which QEMU opens volumes in Ceph: a secret of libvirt, which domains name by its id."""

from __future__ import annotations

from dataclasses import dataclass, field
from xml.sax.saxutils import escape

from .._base.changes import Changes
from .._base.errors import GroundupError
from .._base.run import attempt, run
from .libvirt import VIRSH


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """A client's key."""

    uuid: str  # of the secret: Cinder tells Nova
    client: str  # "client.cinder"
    value: str = field(repr=False)  # as Ceph writes it


def own(changes: Changes, key: Key) -> None:
    """Have libvirt keep the key, over restarts too. Raises GroundupError.

    Instances that run keep the connections they have: QEMU asks for a key when it opens a volume.
    """
    held = holds(key)
    if held == key.value:
        return
    if not changes.add(f"{'give' if held is None else 'replace'} libvirt's key of {key.client}"):
        return
    if held is None:
        run([*VIRSH, "secret-define", "/dev/stdin"], stdin=_definition(key), why="no volume could be attached")
    # The key is in no argument, and in no error.
    done = attempt([*VIRSH, "secret-set-value", key.uuid, "--file", "/dev/stdin"], stdin=key.value)
    if done.returncode:
        raise GroundupError(
            f"libvirt does not take the key of {key.client}: {done.stderr.strip()}",
            where=f"secret {key.uuid}",
            why="no volume could be attached",
            remedy=f"virsh secret-dumpxml {key.uuid}",
        )


def holds(key: Key) -> str | None:
    """Return the value libvirt has; "" for a secret without one, None without the secret or without libvirt."""
    try:
        if attempt([*VIRSH, "secret-dumpxml", key.uuid], timeout=30).returncode:
            return None
        return attempt([*VIRSH, "secret-get-value", key.uuid], timeout=30).stdout.strip()
    except GroundupError:  # it is not installed yet
        return None


def _definition(key: Key) -> str:
    # Whoever may read it may attach any volume as well: the group libvirt has root's part in both.
    return (
        "<secret ephemeral='no' private='no'>"
        f"<uuid>{escape(key.uuid)}</uuid>"
        f"<usage type='ceph'><name>{escape(key.client)} {escape(key.uuid)}</name></usage>"
        "</secret>\n"
    )
