"""Diagnose an instance that does not come up or answer: gather evidence, judge it along the packet's path."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from . import room
from .connection import ERRORS
from .guest import said_by
from .steps import SmokeError

_LINES = 12  # of console output
_HEADERS = 28  # bytes of IPv4 and ICMP
_NO_METADATA = "neither config drive nor metadata service"  # what supply/guest prints
_UNBOUND = ("binding_failed", "unbound", "")
_SMALL = 84  # bytes with headers, ping's default
_GENEVE = 58  # bytes of tunnel overhead per packet between hypervisors
_METADATA_AGENTS = ("OVN Neutron agent", "OVN Metadata agent")


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """Facts of an instance that does not come up or answer."""

    server: str  # its name
    host: str
    status: str
    fault: str = ""
    address: str = ""  # the floating IP
    binding: str | None = None  # Neutron's binding:vif_type; None: unknown
    dead: Sequence[str] = ()  # agents of Nova and Neutron that are down
    console: Sequence[str] | None = None  # its last lines; None: unknown
    neighbour: str = ""  # this machine's `ip neigh` entry of the address
    pings: bool | None = None
    sizes: Mapping[int, str] = field(default_factory=dict)  # bytes of an unfragmented ping -> fault
    ssh: str = ""  # ssh's last error line
    physical: str = ""  # physical network of the port's network; "": tunnelled
    mapped: Sequence[str] | None = None  # physical networks in its chassis' bridge mappings; None: unknown
    metadata: str | None = None  # fault of Nova's metadata service, asked from here; None: not asked
    room: room.Judgement | None = None  # when Nova says "No valid host"
    more: Mapping[str, str] = field(default_factory=dict)

    def lines(self) -> tuple[str, ...]:
        """Return all facts as lines for the operator."""
        words = {
            "host": self.host or "none", "status": self.status, "fault": self.fault,
            "port binding": self.binding, "agents not alive": ", ".join(self.dead) or "none",
            "physical network": self.physical,
            "bridge mappings": None if self.mapped is None else ", ".join(self.mapped) or "none",
            "metadata service": None if self.metadata is None else self.metadata or "answers",
            "neighbour": self.neighbour, "ping": {True: "answers", False: "no answer", None: None}[self.pings],
            "ssh": self.ssh, **self.more,
        }  # fmt: skip
        sizes = (f"ping with {size} bytes: {fault or 'answers'}" for size, fault in self.sizes.items())
        console = () if self.console is None else ("console, last lines:", *(f"  {line}" for line in self.console))
        return (*(f"{key}: {value}" for key, value in words.items() if value), *sizes, *(console or ()))


def gather(
    admin: Any, tenant: Any, server: Any, *, address: str = "", ssh: str = "", mtu: int = 0, flavor: Any = None,
    metadata_url: str = "",
) -> Evidence:  # fmt: skip
    """Collect facts from the cloud and this machine. Leave out those that cannot be read."""

    def asked(question: Callable[[], Any], default: Any = None) -> Any:
        with suppress(*ERRORS):
            return question()
        return default

    found = asked(lambda: admin.compute.get_server(server["id"]), server)
    ports = asked(lambda: list(admin.network.ports(device_id=server["id"])), [])
    output = asked(lambda: tenant.compute.get_server_console_output(server["id"], length=_LINES)["output"])
    near = said_by(["ip", "neigh", "show", address], timeout=5).data.decode().strip() if address else ""
    ping = said_by(["ping", "-c", "1", "-W", "2", address], timeout=5) if address else None
    host, answers = str(found["compute_host"] or ""), ping is not None and not ping.fault
    fault = str((found["fault"] or {}).get("message") or "")
    lost = flavor is not None and "No valid host" in fault
    return Evidence(
        server=str(server["name"]),
        host=host,
        status=str(found["status"]),
        fault=fault,
        address=address,
        binding=str(ports[0]["binding_vif_type"] or "") if ports else None,
        dead=asked(lambda: _dead(admin), ()),
        console=None if output is None else [line for line in str(output).splitlines() if line.strip()][-_LINES:],
        neighbour=near,
        pings=None if ping is None or "this machine has no" in ping.fault else not ping.fault,
        sizes=pings(address, mtu=mtu) if answers and mtu else {},
        ssh=ssh,
        physical=asked(lambda: _physical(admin, ports[0]), "") if ports else "",
        mapped=asked(lambda: _mapped(admin, host)),
        metadata=asked(lambda: _metadata(admin, metadata_url), "no answer") if metadata_url and address else None,
        room=asked(lambda: room.judge(room.look(admin, flavor))) if lost else None,
    )  # fmt: skip


def pings(address: str, *, mtu: int) -> dict[int, str]:
    """Return the faults of unfragmented pings by size in bytes: the default size and the MTU.

    When only the full size is lost, search the largest that passes.
    """

    def ping(size: int) -> str:
        argv = ["ping", "-c", "2", "-i", "0.2", "-W", "1", "-M", "do", "-s", str(size - _HEADERS), address]
        return said_by(argv, timeout=10).fault.replace("exit code 1", "no answer")

    found = {size: ping(size) for size in (_SMALL, mtu)}
    if not found[_SMALL] and found[mtu]:
        passes, fails = _SMALL, mtu
        while fails - passes > 1:
            size = (passes + fails) // 2
            found[size] = ping(size)
            passes, fails = (passes, size) if found[size] else (size, fails)
        found = {size: found[size] for size in sorted({_SMALL, passes, fails, mtu})}
    return found


def black_hole(sizes: Mapping[int, str]) -> str:
    """Return the sizes of an MTU black hole (large packets are lost, small ones pass), "" when there is none."""
    passes = [size for size, fault in sizes.items() if not fault]
    fails = [size for size, fault in sizes.items() if fault]
    if not passes or not fails or max(passes) > min(fails):
        return ""
    return f"MTU black hole: packets of {min(fails)} bytes are lost, of {max(passes)} pass"


def tunnels(mtu: int) -> str:
    """Return the next command when a tenant's full-size packets are lost."""
    size = mtu + _GENEVE - _HEADERS
    return (
        f"between the tunnel addresses of hypervisors and gateway: ping -M do -s {size} ADDRESS; MTU of what is between"
    )


def _physical(admin: Any, port: Any) -> str:
    return str(admin.network.get_network(port["network_id"])["provider_physical_network"] or "")


def _mapped(admin: Any, host: str) -> list[str] | None:
    """Return the physical networks in the bridge mappings of chassis ``host``; None when no agent reports them."""
    for agent in admin.network.agents(host=host):
        said = (agent["configuration"] or {}).get("bridge-mappings")
        if host and said is not None:
            pairs = said.items() if isinstance(said, Mapping) else (one.split(":", 1) for one in said.split(",") if one)
            return sorted(str(name) for name, _ in pairs)
    return None


def _metadata(admin: Any, url: str) -> str:
    status = admin.session.get(url, authenticated=False, raise_exc=False, connect_retries=0).status_code
    return "" if status < 500 else f"it answers {status}"


def _dead(admin: Any) -> tuple[str, ...]:
    agents = [f"{one['agent_type']} on {one['host']}" for one in admin.network.agents() if not one["is_alive"]]
    services = [f"{one['binary']} on {one['host']}" for one in admin.compute.services() if one["state"] != "up"]
    return tuple(sorted({*agents, *services}))


def not_active(seen: Evidence, *, timeout: float) -> SmokeError:
    """Return the error for an instance that is not ACTIVE, with its cause."""
    what = f"instance {seen.server} is {seen.status}" + (f": {seen.fault}" if seen.fault else "")
    if seen.room is not None:
        what, remedy = f"{what}: {seen.room.what}", seen.room.remedy
    elif "No valid host" in seen.fault:
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
    """Return the error for an ACTIVE instance that does not answer ssh, with its cause."""
    if seen.binding is not None and seen.binding in _UNBOUND:
        return _bound(seen)
    what = f"no ssh at {seen.address} {timeout:g} s after the floating IP was made"
    console = "\n".join(seen.console or ())
    down = [agent for agent in seen.dead if agent.endswith(f" on {seen.host}")]
    layer: Any = "network"
    unserved = _NO_METADATA in console
    if unserved and (agents := [one for one in down if one.startswith(_METADATA_AGENTS)]) and agents == down:
        layer, what = "metadata", f"instance {seen.server} got no metadata: {', '.join(agents)} is not alive"
        remedy = f"journalctl -n 50 -u neutron-ovn-agent on {seen.host}"
    elif down:
        what += f"; not alive: {', '.join(down)}"
        remedy = f"journalctl -u ovn-controller -u neutron-ovn-agent -u nova-compute on {seen.host}"
    elif unserved and seen.metadata:
        layer, what = (
            "metadata",
            f"instance {seen.server} got no metadata: Nova's service does not serve: {seen.metadata}",
        )
        remedy = "kubectl --namespace openstack describe deployment nova-api-metadata"
    elif unserved:
        layer, what = "metadata", f"instance {seen.server} got no metadata, so it has no key; its host's agent is alive"
        remedy = f"on {seen.host}: ip netns list (ovnmeta-...), pgrep -af haproxy, then journalctl -u neutron-ovn-agent"
    elif seen.console is not None and not console:
        layer, what = "guest", f"{what}; its console is empty: it has not booted"
        remedy = f"virsh list and /var/log/libvirt/qemu on {seen.host}; CPU model and machine type of its hardware"
    elif seen.pings is False:
        remedy = "ovn-sbctl show: the router's gateway must be on a chassis with a bridge to that network; then its ARP"
    elif "Permission denied" in seen.ssh:
        layer, remedy = "metadata", "the guest runs and has another key: see its console for what metadata gave it"
    elif hole := black_hole(seen.sizes):
        what, remedy = f"{what}; {hole}", tunnels(max(seen.sizes))
    else:
        layer = "guest"
        remedy = "see its console; security group and, where only large packets are lost, the MTU"
    return SmokeError(what, layer=layer, where=_where(seen), remedy=remedy, details=seen.lines())


def _bound(seen: Evidence) -> SmokeError:
    """Return the error for an unbound port: a dead agent, no bridge to its physical network, or a wrong host name."""
    what = f"the port of instance {seen.server} is not bound: binding:vif_type is {seen.binding or 'empty'}"
    down = [agent for agent in seen.dead if agent.endswith(f" on {seen.host}")]
    if down:
        what += f"; not alive: {', '.join(down)}"
        remedy = (
            f"journalctl -n 50 -u ovn-controller -u neutron-ovn-agent on {seen.host}; is its clock right (timedatectl)"
        )
    elif seen.physical and seen.mapped is not None and seen.physical not in seen.mapped:
        what += (
            f"; {seen.host} has no bridge to physical network {seen.physical}, only {', '.join(seen.mapped) or 'none'}"
        )
        remedy = (
            f"ovs-vsctl get Open_vSwitch . external_ids:ovn-bridge-mappings on {seen.host}; in the site file "
            "the networks of purpose provider, and the host's interfaces"
        )
    else:
        remedy = f"is {seen.host} a chassis (ovn-sbctl show) under the name nova-compute has, and its agents alive"
    return SmokeError(what, layer="network", where=_where(seen), details=seen.lines(), remedy=remedy)


def _where(seen: Evidence) -> str:
    return f"instance {seen.server}" + (f" on {seen.host}" if seen.host else "")
