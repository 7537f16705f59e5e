"""The cluster as its monitors and pools answer, by Ceph's own library: one connection in place of a program a question.

Keys are handed over in memory; none is in a file, an argument or an error of ours.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from .._base.errors import GroundupError

QUORUM = 60  # seconds for an answer of the monitors


class Cluster:
    """A connection as one client."""

    def __init__(self, handle: Any, name: str) -> None:
        """Use `connected`."""
        self.handle = handle
        self._name = name

    def ask(self, prefix: str, **arguments: Any) -> Any:
        """Return what the monitors answer to a command, read as JSON. Raises GroundupError."""
        answer = self.send(prefix, **arguments, format="json")
        return json.loads(answer) if answer.strip() else None

    def send(self, prefix: str, *, content: str = "", **arguments: Any) -> bytes:
        """Return the monitors' answer as it is; ``content`` goes with the command. Raises GroundupError."""
        command = json.dumps({"prefix": prefix, **arguments})
        code, answer, said = self.handle.mon_command(command, content.encode())
        if code:
            raise GroundupError(
                f"the monitors refuse `{prefix}`: {said or f'error {code}'}",
                where=f"{self._name}: " + " ".join([prefix, *(f"{key}={value}" for key, value in arguments.items())]),
                why="the cluster is not as the plan says",
                remedy="ceph status, on a monitor host",
            )
        return bytes(answer)


@contextmanager
def connected(name: str, key: str, monitors: Mapping[str, str], *, timeout: int = QUORUM) -> Iterator[Cluster]:
    """Yield a connection as ``name``. Raises GroundupError when no quorum answers within ``timeout`` seconds."""
    import rados  # type: ignore[import-not-found]  # of the host: a package of this layer brings it

    settings = {
        "mon_host": ",".join(monitors.values()),
        "key": key,
        "client_mount_timeout": str(timeout),
        "rados_mon_op_timeout": str(timeout),
        "rados_osd_op_timeout": str(timeout),
    }
    handle = rados.Rados(name=name, conf=settings)
    try:
        handle.connect(timeout=timeout)
    except rados.Error as error:
        handle.shutdown()
        raise GroundupError(
            f"no quorum of monitors answers {name}: {error}",
            where=", ".join(f"{host} ({address})" for host, address in monitors.items()),
            why="a majority of the monitors must run and know the key",
            remedy="journalctl -u 'ceph-mon@*' -n 50 on these hosts; if the key is refused, the secrets store of this "
            "site is not the one that the cluster was made with",
        ) from None
    try:
        yield Cluster(handle, name)
    finally:
        handle.shutdown()
