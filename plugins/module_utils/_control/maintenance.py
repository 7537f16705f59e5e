"""A control host goes away for maintenance: whether the others do without it, what it hands over, and its way back."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from .._base.changes import Changes
from .._base.errors import GroundupError
from .._base.wait import wait_until
from .._edge.verify import wait_for_ports
from .._host import units
from .._host.units import Unit
from .._kubeadm import rolling_restart, static_pods
from .._kubeadm.api import NodeApiError
from .._kubeadm.etcd import OWN, Etcd
from .._kubeadm.files import KUBELET
from .._kubeadm.host import NodeHost
from .._ovn import away
from .._plan.decode import from_dict

KEEPALIVED = "keepalived.service"
PATIENCE = 60.0  # seconds for the host before this one to come back
MOVES = 20.0  # seconds for another host to take a virtual IP


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlMember:
    """A control host, and what it knows of the others."""

    name: str
    address: str
    api_port: int
    others: Mapping[str, str]  # addresses of the other control hosts, by name
    virtual: Mapping[str, int]  # virtual IPs, each with a port that answers
    peers: tuple[str, ...]  # addresses of the other members of OVN's databases
    clusters: Mapping[str, str]  # ids of OVN's databases
    timeout: float

    @property
    def api_server(self) -> str:
        """URL of its own API server."""
        return self.server(self.address)

    def server(self, address: str) -> str:
        """Return the URL of the API server at ``address``."""
        return f"https://{address}:{self.api_port}"

    def lacking(self, host: NodeHost) -> list[str]:
        """Return what etcd, API servers and OVN's databases of the others lack. Raises GroundupError."""

        def serves(address: str) -> str | None:
            return rolling_restart.unready(host, self.server(address))

        found = [*away.lacking(peers=self.peers, clusters=self.clusters)] if self.peers else []
        # Its own member may be down: a killed run has ended it.
        for url in (OWN, *(f"https://{address}:2379" for address in self.others.values())):
            etcd = Etcd(host, server=url)
            with suppress(NodeApiError):
                asked = rolling_restart.lacking(etcd, address=self.address, others=self.others, serves=serves)
                return [*asked, *found]
        return ["no member of etcd answers", *found]


def spare(_: Changes, given: dict[str, Any]) -> dict[str, Any]:
    """Return what the other control hosts lack, after a minute at most; nothing: they do without this one."""
    control = _of(given)
    host = NodeHost(name=control.name)
    return {"changed": False, "lacking": wait_until(lambda: control.lacking(host), timeout=PATIENCE, pause=1.0)}


def stand_down(changes: Changes, given: dict[str, Any]) -> dict[str, Any]:
    """Hand over virtual IPs, OVN's databases and etcd. Run again, it does what is left. Raises GroundupError."""
    control = _of(given)
    host = NodeHost(name=control.name)
    if Unit(changes, KEEPALIVED).active and changes.add(f"hand over the virtual IP: stop {KEEPALIVED}"):
        units.control("stop", KEEPALIVED)
    try:
        for address, port in control.virtual.items():
            wait_for_ports(address, [port], timeout=MOVES)
    except GroundupError:
        units.control("start", KEEPALIVED)  # nobody took it: this one answers again, before anything else is tried
        raise
    away.hand_over(changes)
    if rolling_restart.leads(host) and changes.add("hand over the leadership of etcd"):
        with host.alone():
            static_pods.end(host, [static_pods.API])  # which wrote by it; the kubelet starts it again
            rolling_restart.hand_over(host)
        if rolling_restart.leads(host):
            raise GroundupError(
                "no other member of etcd takes the leadership", where=f"host {control.name}, etcd",
                why="an election would cost writes up to its time-out", remedy="see groundup.cloud.status",
            )  # fmt: skip
    return changes.result()


def halt(changes: Changes, given: dict[str, Any]) -> dict[str, Any]:
    """End API server and etcd in their order, before a reboot that would end all at once. Raises GroundupError."""
    control = _of(given)
    host = NodeHost(name=control.name)
    with host.alone():
        rolling_restart.wait_until_spared(control, host)
        if changes.add("end the API server, then etcd"):
            try:
                units.control("stop", KUBELET)
                static_pods.end(host, static_pods.STATIC)
            except BaseException:
                units.control("start", KUBELET)
                raise
    return changes.result()


def stand_up(changes: Changes, given: dict[str, Any]) -> dict[str, Any]:
    """Start what was stopped, and wait until etcd has what its leader has and the API serves. Raises GroundupError."""
    control = _of(given)
    host = NodeHost(name=control.name)
    _start(changes, KUBELET)

    def pending() -> str | None:
        try:
            behind = Etcd(host).behind()
        except NodeApiError as error:
            return f"its etcd: {error}"
        return (
            f"its etcd is {behind} entries behind" if behind > 0 else rolling_restart.unready(host, control.api_server)
        )

    if why := wait_until(pending, timeout=control.timeout, pause=1.0):
        raise GroundupError(
            f"the control plane of {control.name} does not serve: {why}",
            where=f"host {control.name}, after {control.timeout:g} s",
            why="another control host may go away only when this one is back",
            remedy=f"on {control.name}: crictl ps -a, journalctl -u kubelet; then run this again",
        )
    _start(changes, KEEPALIVED)  # at the end: it may have to take the address
    return changes.result()


def _of(given: dict[str, Any]) -> ControlMember:
    return from_dict(ControlMember, given, "options")


def _start(changes: Changes, unit: str) -> None:
    state = units.properties(unit, "UnitFileState").get("UnitFileState")
    if state == "enabled" and not Unit(changes, unit).active and changes.add(f"start {unit}"):
        units.control("start", unit)
