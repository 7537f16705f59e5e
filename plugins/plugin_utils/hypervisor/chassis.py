"""Settings of Open vSwitch and OVN on one host, from its plan. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

INTEGRATION = "br-int"
UNDERLAY = "br-phy"  # a userspace datapath must own the tunnels' interface, too


@dataclass(frozen=True, slots=True, kw_only=True)
class ChassisBridge:
    """One bridge, and the host's interface in it."""

    name: str
    port: str
    datapath: str
    address: str = ""  # with its prefix; moved from the port to the bridge
    mtu: int = 1500


@dataclass(frozen=True, slots=True, kw_only=True)
class Chassis:
    """A hypervisor's settings in Open vSwitch's database."""

    system_id: str
    tunnel: str  # address
    external_ids: dict[str, str] = field(default_factory=dict)
    other_config: dict[str, str] = field(default_factory=dict)
    bridges: tuple[ChassisBridge, ...] = ()

    def options(self) -> dict[str, Any]:
        """Return the settings as the module's option."""
        return {**asdict(self), "bridges": [asdict(one) for one in self.bridges]}


def tunnel_address(site: Mapping[str, Any], host: Mapping[str, Any]) -> str:
    """Return the tunnel endpoint of ``host``: its address on the tunnel network, else the host's own."""
    networks = site["networks"]
    own = (port["address"] for port in host["interfaces"] if networks[port["network"]]["purpose"] == "tunnel")
    return str(next(own, host["address"]))


def next_of(name: str, names: Sequence[str], *, without: Collection[str] = ()) -> str:
    """Return the name after ``name`` in the ring of ``names``, skipping ``without``; "" when there is no other.

    So each host checks one other and is checked by one, in a site of any size.
    """
    place = names.index(name)
    return next((one for one in (*names[place + 1 :], *names[:place]) if one not in without), "")


def chassis(site: Mapping[str, Any], host: Mapping[str, Any]) -> Chassis:
    """Return a host's chassis from ``groundup_site`` and ``groundup_host``."""
    purposes = {name: network["purpose"] for name, network in site["networks"].items()}
    ports: dict[str, list[Mapping[str, Any]]] = {}
    for port in host["interfaces"]:
        ports.setdefault(purposes[port["network"]], []).append(port)
    datapath = site["hypervisor"]["compute"][host["hardware"]]["datapath"]
    tunnel = next(iter(ports.get("tunnel", ())), None)
    address = tunnel_address(site, host)
    own = datapath != "system"
    by_network = {network: name for name, network in site["ovn"]["bridge_mappings"].items()}
    bridges: list[ChassisBridge] = []
    mappings: dict[str, str] = {}
    if own and tunnel:
        place = f"{address}/{tunnel['prefix']}"
        bridges.append(
            ChassisBridge(name=UNDERLAY, port=tunnel["name"], datapath=datapath, address=place, mtu=tunnel["mtu"])
        )
    for port in ports.get("provider", ()):
        if physical := by_network.get(port["network"]):
            name = "br-ex" if not mappings else f"br-ex{len(mappings) + 1}"
            bridges.append(ChassisBridge(name=name, port=port["name"], datapath=datapath, mtu=port["mtu"]))
            mappings[physical] = name
    ids = {
        "hostname": host["name"],  # the southbound database's RBAC lets no chassis change it later
        "ovn-remote": ",".join(site["hypervisor"]["southbound"]),
        "ovn-encap-type": "geneve",
        "ovn-encap-ip": address,
        "ovn-bridge": INTEGRATION,
        "ovn-bridge-datapath-type": datapath,
        "ovn-remote-probe-interval": "60000",
        "ovn-openflow-probe-interval": "60",
        "ovn-monitor-all": "true",
        "ovn-ofctrl-wait-before-clear": "8000",  # keeps flows during a restart
    }
    if mappings:
        ids |= {
            "ovn-bridge-mappings": ",".join(f"{physical}:{name}" for physical, name in sorted(mappings.items())),
            "ovn-cms-options": "enable-chassis-as-gw",
        }
    # Without it guests' TCP hangs while ping works: nothing turns their devices' offloads off.
    other = {"userspace-tso-enable": "true"} if own else {}
    return Chassis(system_id=host["name"], tunnel=address, external_ids=ids, other_config=other, bridges=tuple(bridges))
