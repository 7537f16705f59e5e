"""Work that takes etcd and the API of a control host away for a while: only when the other control hosts are well.

The caller takes one host at a time, but a host that fails does not keep it from going on to the next: so each looks for
itself.
"""

from __future__ import annotations

import http
import time
from collections.abc import Callable
from urllib.parse import urlsplit

from .access import admin
from .api import ApiError
from .errors import NodeError
from .etcd import Etcd, Member
from .host import Host
from .spec import Node, Paths

PATIENCE = 60.0  # seconds for the host before to come back


def await_turn(node: Node, *, host: Host, paths: Paths) -> None:
    """Wait until the cluster can do without ``node``: a quorum of etcd, and their API servers, beside it.

    Raises:
        NodeError: it cannot after a minute.
    """

    def serves(address: str) -> str | None:
        return unready(f"https://{address}:{node.cluster.api_port}", host=host, paths=paths)

    until = time.monotonic() + PATIENCE
    while True:
        try:
            wrong = missing(Etcd(paths, host=node.name), address=node.address, serves=serves)
        except ApiError:
            return  # the host's own etcd is away already, and this may be what brings it back
        if wrong is None:
            return
        if time.monotonic() > until:
            raise NodeError(
                f"{node.name} is left as it is, because the cluster cannot do without it now: {wrong}",
                where=f"host {node.name}, the other control hosts",
                why="its etcd and its API would be away for a while, and nobody could take their place",
                remedy="see crictl ps -a and journalctl -u kubelet on the hosts named, then run this again",
            )
        time.sleep(1.0)


def missing(etcd: Etcd, *, address: str, serves: Callable[[str], str | None]) -> str | None:
    """Return what the cluster lacks to do without the host at ``address``, or None. Raises ApiError."""
    voters = [member for member in etcd.members() if not member.learner]
    faults = {m.name: fault for m in voters if address not in m.addresses and (fault := _fault(m, etcd, serves))}
    others = sum(address not in member.addresses for member in voters)
    # Two members have no quorum without one of them, however well the other is.
    if others - len(faults) >= min(len(voters) // 2 + 1, others):
        return None
    return "; ".join(f"{name}: {fault}" for name, fault in sorted(faults.items()))


def _fault(member: Member, etcd: Etcd, serves: Callable[[str], str | None]) -> str | None:
    if not etcd.healthy(member):
        return "its etcd is not healthy"
    return serves(urlsplit(member.peers[0]).hostname or "")


def unready(server: str, *, host: Host, paths: Paths) -> str | None:
    """Return why the API at ``server`` (https URL) is not ready, its etcd included, or None when it is."""
    with admin(paths, server=server, host=host.name) as api:
        try:
            status, text = api.raw("GET", "/readyz?verbose")
        except ApiError as error:
            return str(error)
    if status == http.HTTPStatus.OK:
        return None
    return "; ".join(line for line in text.splitlines() if line.startswith("[-]")) or f"HTTP {status}"
