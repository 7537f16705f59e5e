"""Why an instance does not come up or does not answer: what the cloud says, judged in the order of a packet's way."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from .connection import ERRORS
from .guest import said_by
from .steps import SmokeError

_LINES = 12  # of the console
_HEADERS = 28  # bytes of IPv4 and ICMP
_NO_METADATA = "neither config drive nor metadata service"  # what supply/guest prints
_UNBOUND = ("binding_failed", "unbound", "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What is known of an instance that does not answer."""

    server: str  # its name
    host: str
    status: str
    fault: str = ""
    address: str = ""  # the floating IP
    binding: str | None = None  # Neutron's binding:vif_type; None: not known
    dead: Sequence[str] = ()  # agents of Nova and Neutron
    console: Sequence[str] | None = None  # its last lines; None: not known
    neighbour: str = ""  # what this machine's table of neighbours says of the address
    pings: bool | None = None
    ssh: str = ""  # ssh's own last words
    more: Mapping[str, str] = field(default_factory=dict)

    def lines(self) -> tuple[str, ...]:
        """Return all of it, for people."""
        words = {
            "host": self.host or "none", "status": self.status, "fault": self.fault,
            "port binding": self.binding, "agents not alive": ", ".join(self.dead) or "none",
            "neighbour": self.neighbour, "ping": {True: "answers", False: "no answer", None: None}[self.pings],
            "ssh": self.ssh, **self.more,
        }  # fmt: skip
        console = () if self.console is None else ("console, last lines:", *(f"  {line}" for line in self.console))
        return (*(f"{key}: {value}" for key, value in words.items() if value), *(console or ()))


def gather(admin: Any, tenant: Any, server: Any, *, address: str = "", ssh: str = "") -> Evidence:
    """Return what cloud and this machine say. What cannot be asked is left out."""

    def asked(question: Callable[[], Any], default: Any = None) -> Any:
        with suppress(*ERRORS):
            return question()
        return default

    found = asked(lambda: admin.compute.get_server(server["id"]), server)
    ports = asked(lambda: list(admin.network.ports(device_id=server["id"])), [])
    output = asked(lambda: tenant.compute.get_server_console_output(server["id"], length=_LINES)["output"])
    near = said_by(["ip", "neigh", "show", address], timeout=5).data.decode().strip() if address else ""
    ping = said_by(["ping", "-c", "1", "-W", "2", address], timeout=5) if address else None
    return Evidence(
        server=str(server["name"]),
        host=str(found["compute_host"] or ""),
        status=str(found["status"]),
        fault=str((found["fault"] or {}).get("message") or ""),
        address=address,
        binding=str(ports[0]["binding_vif_type"] or "") if ports else None,
        dead=asked(lambda: _dead(admin), ()),
        console=None if output is None else [line for line in str(output).splitlines() if line.strip()][-_LINES:],
        neighbour=near,
        pings=None if ping is None or "this machine has no" in ping.fault else not ping.fault,
        ssh=ssh,
    )  # fmt: skip


def pings(address: str, *, mtu: int) -> tuple[str, ...]:
    """Return whether packets of a common size, and those of full size in one piece, are answered."""
    lines = []
    for size in (84, mtu):  # bytes with headers
        said = said_by(["ping", "-c", "2", "-W", "2", "-M", "do", "-s", str(size - _HEADERS), address], timeout=10)
        lines.append(f"ping with {size} bytes: {said.fault or 'answers'}".replace("exit code 1", "no answer"))
    return tuple(lines)


def _dead(admin: Any) -> tuple[str, ...]:
    agents = [f"{one['agent_type']} on {one['host']}" for one in admin.network.agents() if not one["is_alive"]]
    services = [f"{one['binary']} on {one['host']}" for one in admin.compute.services() if one["state"] != "up"]
    return tuple(sorted({*agents, *services}))


def not_active(seen: Evidence, *, timeout: float) -> SmokeError:
    """Return why an instance is not ACTIVE."""
    what = f"instance {seen.server} is {seen.status}" + (f": {seen.fault}" if seen.fault else "")
    if "No valid host" in seen.fault:
        remedy = "see nova-scheduler's log for the filter that left no host; openstack hypervisor list, allocations"
    elif "Exhausted all hosts" in seen.fault:
        remedy = "journalctl -u nova-compute on the hypervisors: each of them failed to build it"
    elif seen.binding in _UNBOUND and seen.binding is not None and seen.host:
        return _bound(seen)
    elif seen.fault:
        remedy = f"journalctl -u nova-compute on {seen.host}" if seen.host else "see nova-conductor's log"
    else:
        what += f" after {timeout:g} s"
        remedy = f"journalctl -u nova-compute on {seen.host}" if seen.host else "see nova-scheduler's log"
    return SmokeError(what, layer="compute", where=_where(seen), remedy=remedy, details=seen.lines())


def unanswered(seen: Evidence, *, timeout: float) -> SmokeError:
    """Return why an instance that is ACTIVE does not answer ssh."""
    if seen.binding is not None and seen.binding in _UNBOUND:
        return _bound(seen)
    what = f"no ssh at {seen.address} {timeout:g} s after the floating IP was made"
    console = "\n".join(seen.console or ())
    down = [agent for agent in seen.dead if agent.endswith(f" on {seen.host}")]
    layer: Any = "network"
    if down:
        what += f"; not alive: {', '.join(down)}"
        remedy = f"journalctl -u ovn-controller -u neutron-ovn-agent -u nova-compute on {seen.host}"
    elif _NO_METADATA in console:
        layer, what = "metadata", f"instance {seen.server} got no metadata, so it has no key"
        remedy = f"journalctl -u neutron-ovn-agent on {seen.host}; it asks nova-metadata at its public name"
    elif seen.console is not None and not console:
        layer, what = "guest", f"{what}; its console is empty: it has not booted"
        remedy = f"virsh list and /var/log/libvirt/qemu on {seen.host}; CPU model and machine type of its hardware"
    elif seen.pings is False:
        remedy = "ovn-sbctl show: the router's gateway must be on a chassis with a bridge to that network; then its ARP"
    elif "Permission denied" in seen.ssh:
        layer, remedy = "metadata", "the guest runs and has another key: see its console for what metadata gave it"
    else:
        layer = "guest"
        remedy = "see its console; security group and, where only large packets are lost, the MTU"
    return SmokeError(what, layer=layer, where=_where(seen), remedy=remedy, details=seen.lines())


def _bound(seen: Evidence) -> SmokeError:
    return SmokeError(
        f"the port of instance {seen.server} is not bound: binding:vif_type is {seen.binding or 'empty'}",
        layer="network", where=_where(seen), details=seen.lines(),
        remedy=f"is {seen.host} a chassis (ovn-sbctl show) under the name nova-compute has, and its agents alive",
    )  # fmt: skip


def _where(seen: Evidence) -> str:
    return f"instance {seen.server}" + (f" on {seen.host}" if seen.host else "")
