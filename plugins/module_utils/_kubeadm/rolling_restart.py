"""Rolling restart: interrupt a control host's etcd and API only while the other control hosts are healthy.

The caller takes one host at a time, but continues when one fails, so each host checks for itself.
"""

from __future__ import annotations

import http
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from urllib.parse import urlsplit

from .._base.errors import GroundupError
from .._base.wait import wait_until
from .api import NodeApiError
from .etcd import Etcd, EtcdMember, quorum, voters
from .host import NodeHost
from .spec import ApiHost

PATIENCE = 60.0  # seconds for the previous host to come back, or for an etcd to say who its members are
_SILENT = "its own etcd takes connections, and does not answer"


def wait_until_spared(node: ApiHost, host: NodeHost) -> None:
    """Wait until the cluster can spare ``node``: the others have an etcd quorum and working API servers.

    Raises GroundupError when not after a minute.
    """

    def serves(address: str) -> str | None:
        return unready(host, f"https://{address}:{node.api_port}")

    def pending() -> str | None:
        try:
            return missing(Etcd(host), address=node.address, serves=serves)
        except NodeApiError as error:  # down, and the restart may repair it; or slow, and it may be needed
            return None if isinstance(error.__cause__, ConnectionRefusedError) else _SILENT

    wrong = wait_until(pending, timeout=PATIENCE, pause=1.0)
    if wrong and wrong != _SILENT:
        raise GroundupError(
            f"{node.name} is left as it is, because the cluster cannot do without it now: {wrong}",
            where=f"host {node.name}, the other control hosts",
            why="its etcd and its API would be away for a while, and nobody could take their place",
            remedy="see crictl ps -a and journalctl -u kubelet on the hosts named, then run this again",
        )


def hand_over(host: NodeHost) -> None:
    """Have another member of etcd lead before this host's goes away. Its API server has ended. Raises GroundupError.

    A leader refuses what its own API server writes from the moment it hands over: "raft proposal dropped", HTTP 500.
    """
    with suppress(NodeApiError):  # its own etcd is down, or has lost the leadership just now
        Etcd(host).hand_over()


def leads(host: NodeHost) -> bool:
    """Return whether the host's etcd leads; not when it does not answer."""
    with suppress(NodeApiError, GroundupError):  # the restart says so
        return Etcd(host).leads()
    return False


def alone(host: NodeHost) -> bool:
    """Return whether it is the only control host, by its etcd; not when that does not answer."""
    with suppress(NodeApiError, GroundupError):
        return len(Etcd(host).members()) == 1
    return False


def missing(etcd: Etcd, *, address: str, serves: Callable[[str], str | None]) -> str | None:
    """Return why the cluster cannot spare the host at ``address``, or None. Raises NodeApiError."""
    members = etcd.members()
    others = [member for member in voters(members) if address not in member.addresses]
    faults = {member.name: fault for member in others if (fault := _fault(member, etcd, serves))}
    # With two members, losing either one loses the quorum, however healthy the other is.
    if len(others) - len(faults) >= min(quorum(members), len(others)):
        return None
    return "; ".join(f"{name}: {fault}" for name, fault in sorted(faults.items()))


def lacking(
    etcd: Etcd, *, address: str, others: Mapping[str, str], serves: Callable[[str], str | None]
) -> Iterator[str]:
    """Yield what the control hosts beside ``address`` lack to be all there. Raises NodeApiError.

    ``others``: their addresses by name. A member on no host of the site counts for the quorum, too.
    """
    members = [member for member in etcd.members() if address not in member.addresses]
    voting = {one for member in voters(members) for one in member.addresses}
    yield from (f"{name}: no member of etcd with a vote" for name, one in others.items() if one not in voting)
    faults = {member.name: _fault(member, etcd, serves) for member in voters(members)}
    yield from (f"{name}: {fault}" for name, fault in faults.items() if fault)


def _fault(member: EtcdMember, etcd: Etcd, serves: Callable[[str], str | None]) -> str | None:
    if not etcd.healthy(member):
        return "its etcd is not healthy"
    return serves(urlsplit(member.peers[0]).hostname or "")


def unready(host: NodeHost, server: str) -> str | None:
    """Return why the API at ``server`` (https URL), or its etcd, is not ready; None when both are."""
    with host.api(server) as api:
        try:
            status, text = api.raw("GET", "/readyz?verbose")
        except NodeApiError as error:
            return str(error)
    if status == http.HTTPStatus.OK:
        return None
    return "; ".join(line for line in text.splitlines() if line.startswith("[-]")) or f"HTTP {status}"
