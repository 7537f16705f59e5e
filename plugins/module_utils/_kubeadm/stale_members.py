"""Remove stale etcd members and Nodes of hosts that are empty now: they would keep these hosts from joining.

A control host that was lost and is rebuilt under its name has no data, while etcd still counts its old member and the
API still has its Node. An etcd without data must not start in that member's place: it would forget its votes and break
consensus. So the member is removed first, and the host joins as a new one.
A member or Node is removed only when its host was found empty, and its old address does not answer. Everything else is
refused before anything is changed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from http import HTTPStatus
from urllib.parse import urlsplit

from .._base.changes import Changes
from .._base.errors import GroundupError
from .._base.wait import wait_until
from .api import NodeApi, NodeApiError
from .etcd import Etcd, EtcdMember, listens, quorum, voters
from .state import ROTATING

KUBELET_PORT = 10250
MEND = (
    "have kubelet.conf name the kubelet's rotating certificate again (kubeadm init phase kubelet-finalize all with the "
    "configuration /etc/kubernetes/site/kubeadm.yaml, once that certificate is there), then run this again"
)
PATIENCE = 20.0  # seconds for etcd to elect a leader, or to notice a lost member


@dataclass(frozen=True, slots=True, kw_only=True)
class Empty:
    """A planned host that is not a member and is about to join."""

    name: str
    address: str
    control: bool
    half_made: bool  # an unfinished join: its own etcd may run until kubeadm reset removes it


def remove_stale_members(
    hosts: Sequence[Empty],
    *,
    contact: str,
    etcd: Etcd,
    api: NodeApi,
    changes: Changes,
) -> None:
    """Remove the etcd members and Nodes of empty ``hosts``; ``contact`` is the host this runs on.

    Raises GroundupError when an old address still answers, etcd has no quorum, or etcd refuses; NodeApiError when etcd
    or the API does not answer.
    """
    members = etcd.members() if any(host.control for host in hosts) else ()
    stale = {host.name: _stale(host, members) for host in hosts if host.control}
    if any(stale.values()):
        _need_quorum(members, stale, etcd=etcd, contact=contact)
    for host in hosts:
        if host.control and host.half_made:
            _need_others(host, members, leaving=stale[host.name], etcd=etcd)
    nodes = [host for host in hosts if _known(host, api)]
    for name, gone in stale.items():
        for member in gone:
            if changes.add(f"remove the etcd member of {name}", name=f"etcd member {name}", before=line_of(member)):
                remove_member(member, etcd=etcd, host=name, contact=contact)
    for host in nodes:
        if changes.add(f"delete the Node {host.name}", name=f"Node {host.name}", before=f"Node {host.name}\n"):
            api.request("DELETE", f"/api/v1/nodes/{host.name}")


def line_of(member: EtcdMember) -> str:
    return f"{member.name or 'never started'} {int(member.id):x} {' '.join(member.peers)}\n"


def _stale(host: Empty, members: Sequence[EtcdMember]) -> list[EtcdMember]:
    """Return the members that were on ``host``, by name or address. Raises GroundupError for one that still answers."""
    found = []
    for member in members:
        if member.name != host.name and host.address not in member.addresses:
            continue
        answering = [url for url in (*member.clients, *member.peers) if _answers(url)]
        if not answering:
            found.append(member)
        elif not (host.half_made and host.address in member.addresses):
            raise GroundupError(
                f"{host.name} is empty, but its etcd member {int(member.id):x} still answers at {answering[0]}",
                where=f"host {host.name} ({host.address}), etcd member {member.name}",
                why="two machines bear one name or one address; a member that lives is not removed",
                remedy=f"switch the old {host.name} off, or correct the address in the site file, then run this again",
            )
    return found


def _answers(url: str) -> bool:
    place = urlsplit(url)
    return listens(place.hostname or "", place.port or 443)


def _need_quorum(
    members: Sequence[EtcdMember], stale: dict[str, list[EtcdMember]], *, etcd: Etcd, contact: str
) -> None:
    """Refuse when the remaining members have no quorum. Raises GroundupError."""
    leaving = [member for gone in stale.values() for member in gone]
    others, needed = voters(members, without=leaving), quorum(members)
    healthy = healthy_of(others, etcd=etcd, needed=needed)
    if len(healthy) < needed:
        empty = ", ".join(sorted(name for name, gone in stale.items() if gone))
        ill = ", ".join(sorted(member.name for member in others if member.name not in healthy))
        back = f"bring {ill} back with its data" if ill else "restore etcd from a snapshot"
        raise GroundupError(
            f"the etcd member of {empty} cannot be removed: {len(healthy)} of {len(voters(members))} members are "
            f"healthy ({', '.join(healthy) or 'none'}), {needed} are needed",
            where=f"etcd, asked on host {contact}; empty: {empty}; not healthy: {ill or 'none other'}",
            why="most members must agree on who they are; until then nothing is removed and nobody joins",
            remedy=f"{back}, then run this again; the data that are left are in /var/lib/etcd of {contact}",
        )


def healthy_of(members: Sequence[EtcdMember], *, etcd: Etcd, needed: int) -> list[str]:
    """Wait until ``needed`` of ``members`` are healthy; return the names of the healthy ones."""
    found: list[str] = []

    def pending() -> bool:
        found[:] = sorted(member.name for member in members if etcd.healthy(member))
        return len(found) < needed

    wait_until(pending, timeout=PATIENCE, pause=1.0)
    return found


def _need_others(host: Empty, members: Sequence[EtcdMember], *, leaving: Sequence[EtcdMember], etcd: Etcd) -> None:
    """Refuse a reset of ``host`` if the other members have no quorum without its vote. Raises GroundupError.

    A killed join leaves its member beside existing ones. A member without others is no unfinished join: it is the
    cluster itself, even if its kubelet's credentials are broken.
    """
    staying = voters(members, without=leaving)
    own = next((member for member in staying if host.address in member.addresses), None)
    others = [member for member in staying if member != own]
    needed = quorum(others)
    if own and len(healthy := healthy_of(others, etcd=etcd, needed=needed)) < needed:
        ill = ", ".join(sorted(m.name for m in others if m.name not in healthy))
        raise GroundupError(
            f"{host.name} is not a whole node, but its etcd member {int(own.id):x} cannot be spared: "
            f"{len(healthy)} others are healthy, {needed} are needed",
            where=f"host {host.name}, /etc/kubernetes/kubelet.conf, {ROTATING}; not healthy: {ill or 'no other'}",
            why="it would be reset to join again, and the data of the cluster would go with it",
            remedy=f"bring {ill} back, then run this again" if ill else MEND,
        )


def _known(host: Empty, api: NodeApi) -> bool:
    """Return whether the API has a Node of the host's name. Raises GroundupError when that machine still answers."""
    node = api.get(f"/api/v1/nodes/{host.name}")
    if node is None:
        return False
    addresses = [a["address"] for a in node.get("status", {}).get("addresses", []) if a["type"] == "InternalIP"]
    for address in addresses:
        # The host itself was already found empty.
        if address != host.address and listens(address, KUBELET_PORT):
            raise GroundupError(
                f"{host.name} ({host.address}) is empty, but the Node {host.name} answers at {address}",
                where=f"Node {host.name}, {address}:{KUBELET_PORT}",
                why="two machines bear one name; a Node that lives is not deleted",
                remedy=f"switch the old {host.name} off, or correct the address in the site file, then run this again",
            )
    return True


def remove_member(member: EtcdMember, *, etcd: Etcd, host: str, contact: str) -> None:
    faults: list[NodeApiError] = []

    def refused() -> bool:
        faults.clear()
        try:
            etcd.remove(member)
        except NodeApiError as error:
            faults.append(error)
        # etcd refuses the removal as too risky until it notices that the member is gone.
        return any(fault.status == HTTPStatus.SERVICE_UNAVAILABLE for fault in faults)

    wait_until(refused, timeout=PATIENCE, pause=1.0)
    if faults:
        raise GroundupError(
            f"etcd does not remove the member of {host}: {faults[0]}",
            where=f"etcd member {int(member.id):x} ({', '.join(member.peers)}), asked on host {contact}",
            why=f"{host} can only join as a new member once the old one is gone",
            remedy=f"see crictl logs of etcd on {contact}; etcdctl endpoint status --cluster there",
        ) from faults[0]
