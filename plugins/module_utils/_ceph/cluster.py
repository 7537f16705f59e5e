"""Client of a Ceph cluster by librados: one connection for all commands, without a `ceph` process for each.

Keys are passed in memory; none is in a file, an argument or an error of ours.
"""

from __future__ import annotations

import errno
import json
import socket
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from .._base.errors import GroundupError

QUORUM = 60  # seconds for an answer of the monitors
PORT, ANSWERS = 3300, 2.0  # a monitor's port, and seconds for it to accept a connection


class CephCluster:
    """A connection as one Ceph user."""

    def __init__(self, handle: Any, name: str, monitors: Mapping[str, str]) -> None:
        """Use `connected` instead."""
        self.handle = handle
        self._name = name
        self._monitors = monitors

    def ask(self, prefix: str, **arguments: Any) -> Any:
        """Send a command to the monitors; return its JSON answer, parsed. Raises GroundupError."""
        answer = self.send(prefix, **arguments, format="json")
        return json.loads(answer) if answer.strip() else None

    def attempt(self, prefix: str, **arguments: Any) -> tuple[int, Any, str]:
        """Send a command that may fail; return code, parsed answer and error text."""
        code, answer, said = self.handle.mon_command(json.dumps({"prefix": prefix, **arguments, "format": "json"}), b"")
        return code, json.loads(answer) if answer.strip() else None, said

    def send(self, prefix: str, *, content: str = "", **arguments: Any) -> bytes:
        """Send a command with ``content`` as its input; return the raw answer. Raises GroundupError."""
        command = json.dumps({"prefix": prefix, **arguments})
        answered = self.handle.mon_command(command, content.encode())
        if answered[0] == -errno.ETIMEDOUT:  # the quorum was lost after connecting
            raise _silent(self._name, self._monitors, _answering(self._monitors), f"`{prefix}` timed out")
        return self._answer(answered, prefix, arguments)

    def manage(self, prefix: str, **arguments: Any) -> None:
        """Send a command to the manager, for commands that monitors do not handle. Raises GroundupError."""
        self._answer(self.handle.mgr_command(json.dumps({"prefix": prefix, **arguments}), b""), prefix, arguments)

    def _answer(self, answered: tuple[int, bytes, str], prefix: str, arguments: Mapping[str, Any]) -> bytes:
        code, answer, said = answered
        if code:
            raise GroundupError(
                f"the monitors refuse `{prefix}`: {said or f'error {code}'}",
                where=f"{self._name}: " + " ".join([prefix, *(f"{key}={value}" for key, value in arguments.items())]),
                why="the cluster is not as the plan says",
                remedy="ceph status, on a monitor host",
            )
        return bytes(answer)


def installed() -> bool:
    """Return whether this host has librados for Python."""
    try:
        import rados  # type: ignore[import-not-found]  # noqa: F401 - of the host: a package of this layer brings it
    except ImportError:
        return False
    return True


@contextmanager
def connected(name: str, key: str, monitors: Mapping[str, str], *, timeout: int = QUORUM) -> Iterator[CephCluster]:
    """Connect as the user ``name``. Raises GroundupError when no quorum answers in time, or it refuses the key."""
    if not installed():
        raise GroundupError(
            "this host has no client of Ceph",
            where=f"{socket.gethostname()}: python3-rados",
            why="monitors are asked by its library",
            remedy="run the playbook groundup.cloud.host, which installs it",
        )
    import rados  # of the host: a package of this layer brings it

    settings = {
        "mon_host": ",".join(monitors.values()),
        "key": key,
        "client_mount_timeout": str(min(timeout, QUORUM)),
        "rados_mon_op_timeout": str(min(timeout, QUORUM)),
        "rados_osd_op_timeout": str(min(timeout, QUORUM)),
    }
    handle = rados.Rados(name=name, conf=settings)
    try:
        handle.connect(timeout=min(timeout, QUORUM))
    except rados.Error as error:
        handle.shutdown()
        answers = _answering(monitors)
        # Without a quorum a monitor refuses every key: blame the key only when a majority answers.
        if getattr(error, "errno", None) in (errno.EACCES, errno.EPERM) and len(answers) > len(monitors) // 2:
            raise _refused(name) from None
        raise _silent(name, monitors, answers, str(error)) from None
    try:
        yield CephCluster(handle, name, monitors)
    finally:
        handle.shutdown()


def _refused(name: str) -> GroundupError:
    return GroundupError(
        f"the monitors refuse the key of {name}",
        where=f"layer storage: {name}; ceph/{name} of the secrets store",
        why=f"clients see: whoever runs by this key is cut off ({name}: permission denied); others are not",
        remedy=f"ceph auth ls, on a monitor host: without {name}, the playbook groundup.cloud.storage imports the key. "
        "With another key, the store is not the one the cluster was made with: restore it",
    )


def _silent(name: str, monitors: Mapping[str, str], answers: Sequence[str], error: str) -> GroundupError:
    needed = len(monitors) // 2 + 1
    here = socket.gethostname()
    told = (f"{host} ({at}) {'answers' if host in answers else 'does not'}" for host, at in monitors.items())
    away = " ".join(f"ceph-mon@{host}" for host in monitors if host not in answers)
    lost = (
        f"on the hosts of those that do not: systemctl reset-failed {away}; systemctl start {away}. Disks of most "
        "lost for good: on one that is left ceph-mon --extract-monmap, monmaptool --rm for each lost one, "
        "ceph-mon --inject-monmap (Ceph's guide 'Removing monitors from an unhealthy cluster'); then run the layer"
    )
    if answers == [here]:
        lost = f"others may be well, and the network `storage` of {here} cut: ping them from it. Else {lost}"
    return GroundupError(
        f"no quorum of monitors for {name}: {len(answers)} of {len(monitors)} answer, {needed} are needed ({error})",
        where=f"layer storage: {', '.join(told)}; asked from {here}",
        why="clients see: what is open goes on until it needs to know where data are, then all of it waits; nothing "
        "written is lost",
        remedy=lost
        if len(answers) < needed
        else "journalctl -u 'ceph-mon@*' -n 50 on these hosts: they answer and do "
        "not agree (clocks, network between them)",
    )


def _answering(monitors: Mapping[str, str]) -> list[str]:
    return [host for host, address in monitors.items() if _listens(address)]


def _listens(address: str) -> bool:
    try:
        socket.create_connection((address, PORT), timeout=ANSWERS).close()
    except OSError:
        return False
    return True
