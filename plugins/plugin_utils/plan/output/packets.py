"""Picture (SVG) of a tenant's packets: the bridges, networks and hosts they pass, and their maximum size.

Two hypervisors represent all: the instance's own, and the gateway chassis of its router.
"""

from __future__ import annotations

from itertools import pairwise

from ...layers.purposes import PURPOSES
from ...layers.roles import ROLES
from ..types import HostPlan, NetworkPlan, Plan
from .drawing import FAINT, FRAME, GROUND, MARGIN, PAPER, Drawing, cut

WIDTH, HEIGHT, HOST = 980, 596, 380
FLOATING, SHARED, BETWEEN = "#2e7d4f", "#c98a00", "#1f5fa8"
TOP, GUEST, FLOWS, PORTS, BOTTOM = 88, 112, 176, 246, 306
TUNNEL, PROVIDER, OUTSIDE = 334, 392, 450

Points = list[tuple[float, float]]


def packets_svg(plan: Plan) -> str | None:
    """Return the picture of ``plan``; None without hypervisors, Geneve tunnels or a provider network."""
    hosts = [host for host in plan.hosts.values() if "hypervisor" in host.roles]
    provider = next((plan.networks[name] for name in plan.ovn.bridge_mappings.values() if name in plan.networks), None)
    if not hosts or provider is None or plan.ovn.tenant_network != "geneve":
        return None
    picture = _PacketPicture(plan, hosts[0], hosts[-1], provider)
    picture.draw()
    return picture.document(f"{plan.site}: the ways of a tenant's packets", HEIGHT)


class _PacketPicture(Drawing):
    def __init__(self, plan: Plan, here: HostPlan, there: HostPlan, provider: NetworkPlan) -> None:
        super().__init__(WIDTH)
        self.plan, self.here, self.there, self.provider = plan, here, there, provider
        tunnels = [network for network in plan.networks.values() if network.purpose == "tunnel"]
        management = [network for network in plan.networks.values() if network.purpose == "management"]
        self.tunnel = (tunnels or management)[0]

    def draw(self) -> None:
        left, right = MARGIN, WIDTH - MARGIN - HOST
        self.header()
        self.host(self.here, left, "the instance's hypervisor")
        self.host(self.there, right, "gateway chassis of its router")
        self.lane(self.tunnel, TUNNEL)
        self.lane(self.provider, PROVIDER)
        gateway = self.provider.gateway or "no gateway"
        self.box(400, OUTSIDE - 18, 180, 30, fill=GROUND, stroke=FRAME, radius=15)
        self.text(418, OUTSIDE + 2, f"outside: {gateway}", size=11)
        self.line(490, PROVIDER + 14, 490, OUTSIDE - 18, PURPOSES["provider"].colour)
        self.ways(left, right)
        self.legend()

    def header(self) -> None:
        ovn = self.plan.ovn
        floating = "leave at its own hypervisor" if ovn.distributed_floating_ip else "pass the gateway chassis"
        self.text(MARGIN, 42, f"{self.plan.site}: the ways of a tenant's packets", size=20, bold=True)
        words = f"tenants' networks: {ovn.tenant_network}, MTU {ovn.tenant_mtu} · an instance's floating IPs {floating}"
        self.text(MARGIN, 64, words, fill=FAINT)

    def host(self, host: HostPlan, x: float, what: str) -> None:
        self.box(x, TOP, HOST, BOTTOM - TOP, fill=GROUND, stroke=FRAME, radius=5)
        self.box(x, TOP, 7, BOTTOM - TOP, fill=ROLES["hypervisor"].colour, radius=0)
        self.text(x + 18, TOP + 16, cut(host.name, 24), bold=True)
        self.text(x + HOST - 10, TOP + 16, what, size=10, fill=FAINT, end=True)
        self.box(x + 18, GUEST, 170, 34, fill=PAPER, stroke=FRAME)
        self.text(x + 26, GUEST + 15, "instance", size=11)
        self.text(x + 26, GUEST + 28, f"MTU {self.plan.ovn.tenant_mtu}", size=10, fill=FAINT)
        self.box(x + 18, FLOWS, HOST - 36, 40, fill=PAPER, stroke=FRAME)
        self.text(x + 26, FLOWS + 16, "br-int", size=11)
        self.text(x + 26, FLOWS + 31, "flows of OVN", size=10, fill=FAINT)
        self.box(x + 18, PORTS, 165, 44, fill=PAPER, stroke=FRAME)
        self.text(x + 26, PORTS + 17, "Geneve, UDP 6081", size=11)
        self.text(x + 26, PORTS + 32, self.address(host), size=10, fill=FAINT)
        self.box(x + 197, PORTS, 165, 44, fill=PAPER, stroke=FRAME)
        physical = next(one for one, name in self.plan.ovn.bridge_mappings.items() if name == self.provider.name)
        self.text(x + 205, PORTS + 17, f"bridge of {cut(physical, 16)}", size=11)
        self.text(x + 205, PORTS + 32, "no address of the host", size=10, fill=FAINT)

    def address(self, host: HostPlan) -> str:
        found = [port.address for port in host.interfaces if port.network == self.tunnel.name]
        return (found and found[0]) or "no address"

    def lane(self, network: NetworkPlan, y: float) -> None:
        colour = PURPOSES[network.purpose].colour
        self.box(MARGIN, y, WIDTH - 2 * MARGIN, 14, fill=colour, radius=7)
        tagged = f"VLAN {network.vlan}" if network.vlan else "untagged"
        self.text(MARGIN, y + 28, f"{cut(network.name, 30)} · {network.cidr} · {tagged} · MTU {network.mtu}", size=10)

    def ways(self, left: float, right: float) -> None:
        """Draw the three paths, side by side where they share a way."""
        port, out = 140.0, 336.0  # x from a host's left edge: of instance and tunnel; of the provider bridge

        def across(offset: float) -> Points:
            lane, x = TUNNEL + 3 + offset / 3, port + offset
            return [(left + x, GUEST + 34), (left + x, lane), (right + x, lane), (right + x, FLOWS + 20)]

        def away(offset: float) -> Points:
            x = right + out + offset
            return [*across(offset), (x, FLOWS + 20), (x, PROVIDER + 7)]

        x = left + out
        direct = [(left + port, GUEST + 34.0), (left + port, FLOWS + 12.0), (x, FLOWS + 12.0), (x, PROVIDER + 7.0)]
        self.way(direct if self.plan.ovn.distributed_floating_ip else away(0), FLOATING)
        self.way(away(12), SHARED)
        self.way([*across(24)[:-1], (right + port + 24, GUEST + 34)], BETWEEN)

    def way(self, points: Points, colour: str) -> None:
        for (x1, y1), (x2, y2) in pairwise(points):
            self.line(x1, y1, x2, y2, colour, width=3)
        self.dot(*points[0], colour)
        self.dot(*points[-1], colour, fill=colour)

    def legend(self) -> None:
        ovn, tunnel = self.plan.ovn, self.tunnel
        through = (
            f"{ovn.tenant_mtu} bytes and {tunnel.mtu - ovn.tenant_mtu} of headers, of {tunnel.mtu} by {tunnel.name}"
        )
        out = f"then by {self.provider.name} to {self.provider.gateway or 'its networks'}"
        local = "leaves its own hypervisor with that address"
        far = "goes through the tunnel to the gateway chassis, which gives it that address"
        rows = (
            (FLOATING, "with a floating IP", f"{local if ovn.distributed_floating_ip else far}, {out}"),
            (SHARED, "without one", f"goes through the tunnel to the gateway chassis, has the router's address, {out}"),
            (BETWEEN, "to another instance", f"goes through the tunnel: at most {through}"),
        )
        y = OUTSIDE + 44
        for colour, what, words in rows:
            self.box(MARGIN, y - 9, 12, 10, fill=colour)
            self.text(MARGIN + 20, y, what, size=11, bold=True)
            self.text(MARGIN + 170, y, cut(words, 125), size=11)
            y += 22
        for words in (
            "br-int: OVN's flows are security groups, router, floating IPs and DHCP, on every hypervisor",
            "metadata (169.254.169.254) is answered by an agent on the instance's hypervisor, which asks Nova at "
            f"{self.plan.edge.address} over the management network",
        ):
            self.text(MARGIN + 20, y, words, size=11, fill=FAINT)
            y += 18
