"""Picture (SVG) of the site for a design review: the VIP, racks and machines, with networks as coloured lanes below.

Pure text from the plan. Long names are cut.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from ...layers.purposes import PURPOSES
from ...layers.roles import ROLES
from ..types import HostPlan, NetworkPlan, Plan, Severity
from .drawing import FAINT, FRAME, GROUND, MARGIN, PAPER, Drawing, cut

SEVERITIES: dict[Severity, str] = {"error": "#b8323a", "warning": "#c98a00", "info": FAINT}
LEFT, RACK, GAP, LANE = 250, 132, 16, 40
PER_ROW = 12  # racks per row
DRAWN = 48  # machines drawn in one rack; the rest is shown as a number
MANY_RACKS = 36  # with more racks, equal racks are drawn once


@dataclass(frozen=True, slots=True)
class _Rack:
    title: str
    hosts: list[HostPlan]
    alike: int  # number of racks it represents


def topology_svg(plan: Plan) -> str:
    """Return the picture of ``plan``. The same plan gives the same text."""
    racks = _racks(plan)
    width = max(980, LEFT + MARGIN * 2 + min(len(racks), PER_ROW) * (RACK + GAP))
    picture = _TopologyPicture(plan, width)
    picture.header()
    top = 176.0
    for start in range(0, len(racks) or 1, PER_ROW):
        top = picture.row(racks[start : start + PER_ROW], top) + 24
    return picture.document(f"{plan.site}: topology", picture.footer(top))


def _racks(plan: Plan) -> list[_Rack]:
    """Return the racks in the order of the machines; with many racks, equal ones only once."""
    by_rack: dict[str, list[HostPlan]] = {}
    for host in plan.hosts.values():
        by_rack.setdefault(host.rack, []).append(host)
    if len(by_rack) <= MANY_RACKS:
        return [_Rack(name, hosts, 1) for name, hosts in by_rack.items()]
    shapes: dict[tuple[object, ...], list[str]] = {}
    for name, hosts in by_rack.items():
        shapes.setdefault(tuple(sorted(Counter(host.roles for host in hosts).items())), []).append(name)
    return [
        _Rack(names[0] if len(names) == 1 else f"{names[0]}...{names[-1]}", by_rack[names[0]], len(names))
        for names in shapes.values()
    ]


def _slot(rack: _Rack) -> int:
    """Return the height of one machine: with address if there is room; in a full rack only its name."""
    return 34 if len(rack.hosts) <= 8 else 20 if len(rack.hosts) <= 16 else 11


def _inner(rack: _Rack) -> int:
    return min(len(rack.hosts), DRAWN) * _slot(rack) + (16 if len(rack.hosts) > DRAWN else 0)


class _TopologyPicture(Drawing):
    def __init__(self, plan: Plan, width: int) -> None:
        super().__init__(width)
        self.plan = plan

    def header(self) -> None:
        plan, kubernetes, vip_colour = self.plan, self.plan.kubernetes, ROLES["control"].colour
        self.text(MARGIN, 42, plan.site, size=24, bold=True)
        machines = f"{len(plan.hosts)} machine{'s' if len(plan.hosts) > 1 else ''}"
        versions = f"Kubernetes {kubernetes.version} ({kubernetes.cni.name}) · OpenStack {plan.openstack.release}"
        self.text(MARGIN, 64, f"{plan.domain} · profile {plan.profile} · {machines} · {versions}", fill=FAINT)
        x = float(MARGIN)
        counted = Counter(role for host in plan.hosts.values() for role in host.roles)
        for role, record in ROLES.items():
            if counted[role]:
                words = f"{role} {counted[role]}"
                self.box(x, 80, 12, 12, fill=record.colour)
                self.text(x + 18, 91, words)
                x += 34 + 7.6 * len(words)
        names = ", ".join(endpoint.name for endpoint in plan.edge.endpoints)
        public = names if len(names) <= (self.width - LEFT) / 11 else f"{len(plan.edge.endpoints)} public names"
        lane = self.width - LEFT - 2 * MARGIN
        self.box(LEFT + MARGIN, 106, lane, 30, fill="#eaf1fa", stroke=vip_colour, radius=15)
        vip = f"VIP {plan.edge.address}" + (f", users {plan.edge.public.address}" if plan.edge.public else "")
        self.text(LEFT + MARGIN + 16, 126, vip, size=13, bold=True, fill=vip_colour)
        words = f"{kubernetes.endpoint_name}:{kubernetes.endpoint_port}" + (f" · {public}" if public else "")
        self.text(LEFT + MARGIN + 40 + 8.6 * len(vip), 126, words, size=11)
        self.text(MARGIN, 126, "virtual IP", bold=True)

    def row(self, row: list[_Rack], top: float) -> float:
        """Draw one row of racks from ``top``, with the networks below. Return the y of its end."""
        rack_bottom = top + 38 + max((_inner(rack) for rack in row), default=34)
        networks = list(self.plan.networks.values())
        lane_top = rack_bottom + 26
        self.text(MARGIN, top + 20, "racks", bold=True)
        for position, network in enumerate(networks):
            self.lane(network, lane_top + position * LANE)
        for position, rack in enumerate(row):
            x = LEFT + MARGIN + position * (RACK + GAP)
            self.rack(rack, x, top, height=rack_bottom - top)
            reached = {port.network for host in rack.hosts for port in host.interfaces}
            if any(host.bmc for host in rack.hosts):
                reached |= {network.name for network in networks if network.purpose == "oob"}
            step = RACK / (len(networks) + 1)
            for index, network in enumerate(networks):
                if network.name in reached:
                    place, end = x + step * (index + 1), lane_top + index * LANE + 8
                    colour = PURPOSES[network.purpose].colour
                    self.line(place, rack_bottom, place, end, colour)
                    self.dot(place, end, colour)
        return lane_top + len(networks) * LANE

    def rack(self, rack: _Rack, x: float, top: float, *, height: float) -> None:
        if any(host.name in self.plan.edge.hosts for host in rack.hosts):
            self.line(x + RACK / 2, 136, x + RACK / 2, top, ROLES["control"].colour, dash="4 3")
        self.box(x, top, RACK, height, fill=GROUND, stroke=FRAME, radius=5)
        many = f"{rack.alike} racks" if rack.alike > 1 else str(len(rack.hosts))
        self.text(x + 8, top + 19, cut(rack.title, 12), size=11 if rack.alike > 1 else 12, bold=True)
        self.text(x + RACK - 8, top + 19, many, size=10, fill=FAINT, end=True)
        y, slot = top + 30, _slot(rack)
        for host in rack.hosts[:DRAWN]:
            self.box(x + 6, y, RACK - 12, slot - 2, fill=PAPER, stroke=FRAME, radius=2)
            part = (slot - 2) / len(host.roles)
            for index, role in enumerate(host.roles):
                self.box(x + 6, y + index * part, 7, part, fill=ROLES[role].colour, radius=0)
            if slot >= 34:
                self.text(x + 19, y + 14, cut(host.name, 17), size=11)
                self.text(x + 19, y + 27, host.address or "no address", size=10, fill=FAINT)
            else:
                length, size = (17, 11) if slot > 11 else (24, 8)
                self.text(x + 19, y + slot / 2 + 2, cut(host.name, length), size=size)
            y += slot
        if len(rack.hosts) > DRAWN:
            self.text(x + 19, y + 12, f"and {len(rack.hosts) - DRAWN} more", size=10, fill=FAINT)

    def lane(self, network: NetworkPlan, y: float) -> None:
        colour = PURPOSES[network.purpose].colour
        self.box(LEFT + MARGIN, y + 2, self.width - LEFT - 2 * MARGIN, 12, fill=colour, radius=6)
        named = network.name if network.name == network.purpose else f"{network.name} ({network.purpose})"
        self.text(MARGIN, y + 9, cut(named, 32), bold=True, fill=colour)
        tagged = f"VLAN {network.vlan}" if network.vlan else "untagged"
        self.text(MARGIN, y + 24, f"{network.cidr} · {tagged} · MTU {network.mtu}", size=10, fill=FAINT)

    def footer(self, top: float) -> int:
        """Write cluster facts and findings below ``top``. Return the height of the picture."""
        plan, cluster = self.plan, self.plan.kubernetes
        self.line(MARGIN, top - 12, self.width - MARGIN, top - 12, FRAME, width=1)
        counted = Counter(finding.severity for finding in plan.findings)
        found = [f"{counted[name]} {name}" for name in SEVERITIES if counted[name]]
        facts = (
            f"inside the cluster: pods {cluster.pod_cidr} · Services {cluster.service_cidr} · DNS {cluster.dns_address}"
            f" · etcd members {cluster.etcd_members} · volumes {cluster.storage_backend}",
            f"releases: {', '.join(release.name for release in plan.openstack.releases) or 'none'}"
            f" · supply: {plan.supply.source} from {plan.supply.registry}",
            f"findings: {', '.join(found) or 'none'}",
        )
        y = top + 8
        for fact in facts:
            self.text(MARGIN, y, fact, size=11)
            y += 18
        for finding in plan.findings[:6]:
            words = cut(f"{finding.name}: {finding.what}", int((self.width - 80) / 6.4))
            self.text(MARGIN + 12, y, words, size=10, fill=SEVERITIES[finding.severity])
            y += 16
        return int(y + 10)
