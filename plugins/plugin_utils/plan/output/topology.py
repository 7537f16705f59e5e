"""Picture (SVG) of the site for a design review: the VIP, racks and machines, with networks as coloured lanes below.

Pure text from the plan: names, addresses, BMCs, bonds and VLANs. Long names are cut, long lines wrapped.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import groupby

from ...layers.purposes import PURPOSES
from ...layers.roles import ROLES
from ..types import HostPlan, NetworkPlan, Plan, Severity
from .drawing import FAINT, FRAME, GROUND, INK, MARGIN, PAPER, Drawing, cut

SEVERITIES: dict[Severity, str] = {"error": "#b8323a", "warning": "#c98a00", "info": FAINT}
LEFT, RACK, GAP, LANE = 250, 140, 16, 40
BOX, WIDEST, PAD, LINE = 128, 176, 6, 13  # a machine: width, at most; between two; one line of its text
PER_ROW = 12  # racks per row
SINGLE = 16  # machines drawn one by one in a rack; with more, equal neighbours are one box
ALIKE = 4  # machines that one box stands for, at least
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
    return picture.document(f"{plan.site}: topology", picture.footer(picture.wiring(top)))


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


def _boxes(rack: _Rack) -> list[list[HostPlan]]:
    """Return the machines of each box: one, or in a full rack many neighbours of one group."""
    if len(rack.hosts) <= SINGLE:
        return [[host] for host in rack.hosts]
    runs = [list(run) for _, run in groupby(rack.hosts, key=lambda host: (host.group, host.roles))]
    return [box for run in runs for box in ([run] if len(run) >= ALIKE else [[host] for host in run])]


def _lines(box: list[HostPlan]) -> list[str]:
    """Return the text of a box: name, address and BMC of a machine; of many the first and the last."""
    first, last = box[0], box[-1]
    if len(box) > 1:
        ends = (text for host in (first, last) for text in (host.name, host.address or "no address"))
        return [f"{len(box)} {'with BMC' if all(host.bmc for host in box) else 'machines'}", *ends]
    bmc = [f"BMC {first.bmc['address']}"] if first.bmc and first.bmc.get("address") else []
    return [first.name, first.address or "no address", *bmc]


def _wiring(host: HostPlan) -> str:
    """Return the bonds, ports and VLANs of a machine whose links the site manages; "" for any other."""
    carried: dict[str, list[str]] = {}
    for link in host.links:
        if link.kind == "vlan" and link.parent:
            carried.setdefault(link.parent, []).append(f"VLAN {link.vlan} {link.network or ''}".rstrip())
    said = []
    for link in host.links:
        on = [*([link.network] if link.network else []), *carried.get(link.name, ())]
        if link.kind == "bond":
            said.append(f"{link.name} ({link.mode}, {'+'.join(link.members)}): {', '.join(on) or 'nothing'}")
        elif link.kind != "vlan" and on:
            said.append(f"{link.name}: {', '.join(on)}")
    return " · ".join(said)


class _TopologyPicture(Drawing):
    def __init__(self, plan: Plan, width: int) -> None:
        super().__init__(width)
        self.plan = plan

    def header(self) -> None:
        plan, kubernetes, vip_colour = self.plan, self.plan.kubernetes, ROLES["control"].colour
        self.text(MARGIN, 42, plan.site, size=24, bold=True)
        machines = f"{len(plan.hosts)} machine{'s' if len(plan.hosts) > 1 else ''}"
        versions = f"Kubernetes {kubernetes.version} ({kubernetes.cni.name}) · OpenStack {plan.openstack.release}"
        words = f"{plan.domain} · profile {plan.profile} · {machines} · {versions}"
        self.text(MARGIN, 64, cut(words, self.fits(self.width - 2 * MARGIN, 12)), fill=FAINT)
        x = float(MARGIN)
        counted = Counter(role for host in plan.hosts.values() for role in host.roles)
        for role, record in ROLES.items():
            if counted[role]:
                words = f"{role} {counted[role]}"
                self.box(x, 80, 12, 12, fill=record.colour)
                self.text(x + 18, 91, words)
                x += 34 + 7.6 * len(words)
        names = ", ".join(endpoint.name for endpoint in plan.edge.endpoints)
        lane = self.width - LEFT - 2 * MARGIN
        self.box(LEFT + MARGIN, 106, lane, 30, fill="#eaf1fa", stroke=vip_colour, radius=15)
        vip = f"VIP {plan.edge.address}" + (f", users {plan.edge.public.address}" if plan.edge.public else "")
        self.text(LEFT + MARGIN + 16, 126, vip, size=13, bold=True, fill=vip_colour)
        begin, own = 40 + 8.6 * len(vip), f"{kubernetes.endpoint_name}:{kubernetes.endpoint_port}"
        room = self.fits(lane - begin - 16, 11)
        public = names if len(own) + len(names) + 3 <= room else f"{len(plan.edge.endpoints)} public names"
        self.text(LEFT + MARGIN + begin, 126, cut(f"{own} · {public}" if names else own, room), size=11)
        self.text(MARGIN, 126, "virtual IP", bold=True)

    def row(self, row: list[_Rack], top: float) -> float:
        """Draw one row of racks from ``top``, with the networks below. Return the y of its end."""
        lane, boxes = self.width - LEFT - 2 * MARGIN, [_boxes(rack) for rack in row]
        most = max(map(len, boxes), default=1)
        size = max(RACK, min((lane + GAP) / max(len(row), 1) - GAP, most * (WIDEST + PAD) + PAD))
        columns = max(1, min(most, int((size - PAD) // (BOX + PAD))))
        rack_bottom = top + 38 + max((self.height(found, columns) for found in boxes), default=34)
        networks = list(self.plan.networks.values())
        lane_top = rack_bottom + 26
        self.text(MARGIN, top + 20, "racks", bold=True)
        for position, network in enumerate(networks):
            self.lane(network, lane_top + position * LANE)
        for position, rack in enumerate(row):
            x = LEFT + MARGIN + position * (size + GAP)
            self.rack(rack, x, top, width=size, height=rack_bottom - top)
            self.machines(boxes[position], x, top + 30, width=size, columns=columns)
            reached = {port.network for host in rack.hosts for port in host.interfaces}
            if any(host.bmc for host in rack.hosts):
                reached |= {network.name for network in networks if network.purpose == "oob"}
            step = size / (len(networks) + 1)
            for index, network in enumerate(networks):
                if network.name in reached:
                    place, end = x + step * (index + 1), lane_top + index * LANE + 8
                    colour = PURPOSES[network.purpose].colour
                    self.line(place, rack_bottom, place, end, colour)
                    self.dot(place, end, colour)
        return lane_top + len(networks) * LANE

    def rack(self, rack: _Rack, x: float, top: float, *, width: float, height: float) -> None:
        if any(host.name in self.plan.edge.hosts for host in rack.hosts):
            self.line(x + width / 2, 136, x + width / 2, top, ROLES["control"].colour, dash="4 3")
        self.box(x, top, width, height, fill=GROUND, stroke=FRAME, radius=5)
        many = f"{rack.alike} racks" if rack.alike > 1 else str(len(rack.hosts))
        title = cut(rack.title, self.fits(width - 16, 12) - len(many) - 2)
        self.text(x + 8, top + 19, title, size=11 if rack.alike > 1 else 12, bold=True)
        self.text(x + width - 8, top + 19, many, size=10, fill=FAINT, end=True)

    @staticmethod
    def height(boxes: list[list[HostPlan]], columns: int) -> float:
        """Return the height of all boxes in ``columns``: each row is as high as its highest."""
        rows = (boxes[start : start + columns] for start in range(0, len(boxes), columns))
        return sum(8 + LINE * max(len(_lines(box)) for box in row) + PAD for row in rows)

    def machines(self, boxes: list[list[HostPlan]], x: float, y: float, *, width: float, columns: int) -> None:
        size = (width - PAD) / columns - PAD
        for start in range(0, len(boxes), columns):
            row = boxes[start : start + columns]
            height = self.height(row, columns) - PAD
            for column, box in enumerate(row):
                self.machine(box, x + PAD + column * (size + PAD), y, width=size, height=height)
            y += height + PAD

    def machine(self, box: list[HostPlan], x: float, y: float, *, width: float, height: float) -> None:
        roles = box[0].roles
        self.box(x, y, width, height, fill=PAPER, stroke=FRAME, radius=2)
        for index, role in enumerate(roles):
            self.box(x, y + index * height / len(roles), 7, height / len(roles), fill=ROLES[role].colour, radius=0)
        for number, words in enumerate(_lines(box)):
            named = number == 0 or (len(box) > 1 and number % 2 == 1)
            size, fill = (11, INK) if named else (10, FAINT)
            self.text(x + 13, y + 14 + number * LINE, cut(words, self.fits(width - 16, size)), size=size, fill=fill)

    def wiring(self, top: float) -> float:
        """Write bonds and VLANs by group of machines below ``top``. Return the y of its end."""
        found: dict[tuple[str, str], int] = {}
        for host in self.plan.hosts.values():
            if words := _wiring(host):
                found[host.group, words] = found.get((host.group, words), 0) + 1
        if not found:
            return top
        self.text(MARGIN, top, "wiring", bold=True)
        for (group, words), number in list(found.items())[:SINGLE]:
            top = self.paragraph(LEFT + MARGIN, top, f"{group} ({number}): {words}", size=10, fill=FAINT)
        if len(found) > SINGLE:
            top = self.paragraph(LEFT + MARGIN, top, f"and {len(found) - SINGLE} more", size=10, fill=FAINT)
        return top + 16

    def lane(self, network: NetworkPlan, y: float) -> None:
        colour = PURPOSES[network.purpose].colour
        self.box(LEFT + MARGIN, y + 2, self.width - LEFT - 2 * MARGIN, 12, fill=colour, radius=6)
        named = network.name if network.name == network.purpose else f"{network.name} ({network.purpose})"
        self.text(MARGIN, y + 9, cut(named, 32), bold=True, fill=colour)
        tagged = f"VLAN {network.vlan}" if network.vlan else "untagged"
        words = cut(f"{network.cidr} · {tagged} · MTU {network.mtu}", self.fits(LEFT, 10))
        self.text(MARGIN, y + 24, words, size=10, fill=FAINT)

    def footer(self, top: float) -> int:
        """Write cluster facts and findings below ``top``. Return the height of the picture."""
        plan, cluster = self.plan, self.plan.kubernetes
        self.line(MARGIN, top - 12, self.width - MARGIN, top - 12, FRAME, width=1)
        counted = Counter(finding.severity for finding in plan.findings)
        found = [f"{counted[name]} {name}{'s' if counted[name] > 1 else ''}" for name in SEVERITIES if counted[name]]
        facts = (
            f"inside the cluster: pods {cluster.pod_cidr} · Services {cluster.service_cidr} · DNS {cluster.dns_address}"
            f" · etcd members {cluster.etcd_members} · volumes {cluster.storage_backend}",
            f"releases: {', '.join(release.name for release in plan.openstack.releases) or 'none'}"
            f" · supply: {plan.supply.source} from {plan.supply.registry}",
            f"findings: {', '.join(found) or 'none'}",
        )
        y = top + 8
        for fact in facts:
            y = self.paragraph(MARGIN, y, fact, size=11) + 2
        for finding in plan.findings[:6]:
            words = cut(f"{finding.name}: {finding.what}", self.fits(self.width - 2 * MARGIN - 12, 10))
            self.text(MARGIN + 12, y, words, size=10, fill=SEVERITIES[finding.severity])
            y += 16
        return int(y + 10)
