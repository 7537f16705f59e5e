"""Query and remove etcd members and move the leadership, by etcd's JSON API.

With the credentials that kubeadm puts on every control host.
"""

from __future__ import annotations

import base64
import socket
import ssl
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from .._base.errors import GroundupError
from .api import NodeApi, NodeApiError
from .host import NodeHost

OWN = "https://127.0.0.1:2379"
PAGE = 200  # keys of an answer: a Secret has up to 1 MiB
TIMEOUT = 5.0  # seconds per request; a healthy member answers in well under one


@dataclass(frozen=True, slots=True, kw_only=True)
class EtcdMember:
    """An etcd member, as listed by the cluster."""

    id: str  # decimal, of 64 bits
    name: str  # empty until it has started for the first time
    peers: tuple[str, ...]  # URLs
    clients: tuple[str, ...]  # URLs, none until it has started for the first time
    learner: bool  # without a vote yet

    @property
    def addresses(self) -> frozenset[str]:
        """Return the addresses in its URLs."""
        return frozenset(urlsplit(url).hostname or "" for url in (*self.peers, *self.clients))


def voters(members: Sequence[EtcdMember], *, without: Collection[EtcdMember] = ()) -> list[EtcdMember]:
    """Return the ``members`` that have a vote."""
    return [member for member in members if not member.learner and member not in without]


def quorum(members: Sequence[EtcdMember]) -> int:
    """Return the quorum of ``members``: the majority of those with a vote."""
    return len(voters(members)) // 2 + 1


class Etcd:
    """A cluster's etcd, reached through a control host's own member."""

    def __init__(self, host: NodeHost, *, server: str = OWN) -> None:
        """Load the credentials of ``host``. Raises GroundupError when they are unusable."""
        pki = host.paths.pki / "etcd"
        try:
            self._context = ssl.create_default_context(cafile=str(pki / "ca.crt"))
            self._context.load_cert_chain(pki / "healthcheck-client.crt", pki / "healthcheck-client.key")
        except (OSError, ssl.SSLError) as error:
            raise GroundupError(
                f"the credentials of etcd on {host.name} cannot be used: {error}",
                where=f"host {host.name}, {pki}",
                why="etcd lists its members only to clients with a certificate",
                remedy="kubeadm init phase certs etcd-healthcheck-client on the host makes them again",
            ) from error
        self._server = server

    def members(self) -> tuple[EtcdMember, ...]:
        """Return the members known to this host's own one, which answers even without a quorum. Raises NodeApiError."""
        found = self._ask(self._server, "cluster/member/list")
        return tuple(_member(item) for item in found["members"])

    def healthy(self, member: EtcdMember) -> bool:
        """Return whether ``member`` answers, has a leader and reports no errors."""
        for url in member.clients:
            try:
                status = self._ask(url, "maintenance/status")
            except NodeApiError:
                continue
            # etcd omits fields with the value zero: a missing leader field means no leader.
            return status.get("leader", "0") != "0" and not status.get("errors")
        return False

    def hand_over(self) -> EtcdMember | None:
        """Move the leadership from this host's member to a healthy one; return that one. Raises NodeApiError.

        An election would cost writes up to its time-out. None: another leads, or nobody could.
        """
        own, leader = self._own_and_leader()
        if leader != own:
            return None
        for member in voters(self.members()):
            if member.id != own and self.healthy(member):
                self._ask(self._server, "maintenance/transfer-leadership", {"targetID": member.id})
                return member
        return None

    def leads(self) -> bool:
        """Return whether this host's member leads. Raises NodeApiError."""
        own, leader = self._own_and_leader()
        return own == leader

    def behind(self) -> int:
        """Return how many entries of the leader's log this host's member has not applied. Raises NodeApiError."""
        _, leader = self._own_and_leader()
        urls = [url for member in self.members() if member.id == leader for url in member.clients]
        if not urls:
            raise NodeApiError("it has no leader")
        index = int(self._ask(urls[0], "maintenance/status")["raftIndex"])  # before the own one, which goes on
        return index - int(self._ask(self._server, "maintenance/status")["raftAppliedIndex"])

    def _own_and_leader(self) -> tuple[str, str]:
        status = self._ask(self._server, "maintenance/status")
        return str(status["header"]["member_id"]), str(status.get("leader", "0"))

    def state(self) -> dict[str, Any]:
        """Return the own member's version, cluster, revision, keys and peers. Raises NodeApiError."""
        status = self._ask(self._server, "maintenance/status")
        if status.get("leader", "0") == "0" or status.get("errors"):
            raise NodeApiError(f"it has no leader, or reports {status.get('errors')}")
        held = self._ask(self._server, "kv/range", {"key": "AA==", "range_end": "AA==", "count_only": True})
        names = sorted(member.name for member in self.members())
        return {
            "version": str(status["version"]), "cluster": str(status["header"]["cluster_id"]),
            "revision": int(held["header"]["revision"]), "keys": int(held.get("count", 0)), "members": names,
        }  # fmt: skip

    def remove(self, member: EtcdMember) -> None:
        """Remove ``member`` from the cluster. Raises NodeApiError."""
        self._ask(self._server, "cluster/member/remove", {"ID": member.id})

    def values(self, prefix: str) -> Iterator[bytes]:
        """Yield the value of each key that begins with ``prefix``, in pages. Raises NodeApiError."""
        begin, end = prefix.encode(), prefix[:-1].encode() + bytes([ord(prefix[-1]) + 1])
        while begin:
            keys = {"key": _encoded(begin), "range_end": _encoded(end), "limit": PAGE}
            found = self._ask(self._server, "kv/range", keys)
            page = found.get("kvs", ())
            yield from (base64.b64decode(one["value"]) for one in page)
            begin = base64.b64decode(page[-1]["key"]) + b"\0" if found.get("more") else b""

    def _ask(self, server: str, what: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        with NodeApi(server, context=self._context, timeout=TIMEOUT) as api:
            return api.request("POST", f"/v3/{what}", body or {})


def _encoded(key: bytes) -> str:
    return base64.b64encode(key).decode("ascii")


def listens(host: str, port: int) -> bool:
    """Return whether anything accepts connections at this address and port."""
    try:
        with socket.create_connection((host, port), timeout=TIMEOUT):
            return True
    except OSError:
        return False


def _member(item: dict[str, Any]) -> EtcdMember:
    return EtcdMember(
        id=str(item["ID"]),
        name=item.get("name", ""),
        peers=tuple(item.get("peerURLs", ())),
        clients=tuple(item.get("clientURLs", ())),
        learner=bool(item.get("isLearner", False)),
    )
