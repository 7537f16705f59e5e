"""The site as a picture (SVG) for a design review: the VIP, racks and machines, planes as coloured lanes below them.

Pure text from the plan: no font is measured, widths are chosen so that ordinary names fit, and longer ones are cut.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from xml.sax.saxutils import escape

from ...layers.purposes import PURPOSES
from ...layers.roles import ROLES
from ..types import HostPlan, NetworkPlan, Plan

INK, FAINT, PAPER, FRAME = "#1d2733", "#5c6875", "#ffffff", "#c9d1d9"
LEFT, RACK, GAP, MARGIN, LANE = 250, 132, 16, 28, 40
PER_ROW = 12  # racks side by side before a new row begins
DRAWN = 48  # machines drawn in one rack; the rest is a number
MANY_RACKS = 36  # beyond that, racks that look alike are drawn once


@dataclass(frozen=True, slots=True)
class _Rack:
    title: str
    hosts: list[HostPlan]
    alike: int  # racks this one stands for


def topology_svg(plan: Plan) -> str:
    """Return the picture of ``plan``. The same plan gives the same text."""
    racks = _racks(plan)
    rows = [racks[start : start + PER_ROW] for start in range(0, len(racks), PER_ROW)] or [[]]
    width = max(980, LEFT + MARGIN * 2 + min(len(racks), PER_ROW) * (RACK + GAP))
    body: list[str] = []
    top = 176.0
    for row in rows:
        bottom = _row(body, plan, row, top, width)
        top = bottom + 24
    height = _footer(body, plan, top, width)
    head = list(_header(plan, width))
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}"',
            '     font-family="DejaVu Sans, Verdana, Helvetica, Arial, sans-serif">',
            f"<title>{escape(plan.site)}: topology</title>",
            f'<rect width="{width}" height="{height}" fill="{PAPER}"/>',
            *head,
            *body,
            "</svg>",
            "",
        ]
    )


def _racks(plan: Plan) -> list[_Rack]:
    """Return the racks in the order machines name them; of many, those that look alike only once."""
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


def _text(
    x: float, y: float, words: str, *, size: int = 12, fill: str = INK, weight: str = "", anchor: str = ""
) -> str:
    more = (f' font-weight="{weight}"' if weight else "") + (f' text-anchor="{anchor}"' if anchor else "")
    return f'<text x="{x:g}" y="{y:g}" font-size="{size}" fill="{fill}"{more}>{escape(words)}</text>'


def _box(x: float, y: float, w: float, h: float, *, fill: str, stroke: str = "none", radius: int = 3) -> str:
    return f'<rect x="{x:g}" y="{y:g}" width="{w:g}" height="{h:g}" rx="{radius}" fill="{fill}" stroke="{stroke}"/>'


def _line(x1: float, y1: float, x2: float, y2: float, colour: str, *, width: float = 2, dash: str = "") -> str:
    dashed = f' stroke-dasharray="{dash}"' if dash else ""
    return f'<line x1="{x1:g}" y1="{y1:g}" x2="{x2:g}" y2="{y2:g}" stroke="{colour}" stroke-width="{width:g}"{dashed}/>'


def _header(plan: Plan, width: int) -> Iterator[str]:
    counted = Counter(role for host in plan.hosts.values() for role in host.roles)
    yield _text(MARGIN, 42, plan.site, size=24, weight="bold")
    kubernetes = plan.kubernetes
    yield _text(
        MARGIN,
        64,
        f"{plan.domain} · profile {plan.profile} · {len(plan.hosts)} machine{'s' if len(plan.hosts) > 1 else ''}"
        f" · Kubernetes {kubernetes.version} ({kubernetes.cni.name}) · OpenStack {plan.openstack.release}",
        fill=FAINT,
    )
    x = float(MARGIN)
    for role, record in ROLES.items():
        if counted[role]:
            words = f"{role} {counted[role]}"
            yield _box(x, 80, 12, 12, fill=record.colour)
            yield _text(x + 18, 91, words)
            x += 34 + 7.6 * len(words)
    names = ", ".join(endpoint.name for endpoint in plan.edge.endpoints)
    public = names if len(names) <= (width - LEFT) / 11 else f"{len(plan.edge.endpoints)} public names"
    yield _box(
        LEFT + MARGIN, 106, width - LEFT - 2 * MARGIN, 30, fill="#eaf1fa", stroke=ROLES["control"].colour, radius=15
    )
    vip = f"VIP {plan.edge.address}"
    yield _text(LEFT + MARGIN + 16, 126, vip, size=13, weight="bold", fill=ROLES["control"].colour)
    words = f"{kubernetes.endpoint_name}:{kubernetes.endpoint_port}" + (f" · {public}" if public else "")
    yield _text(LEFT + MARGIN + 40 + 8.6 * len(vip), 126, words, size=11)
    yield _text(MARGIN, 126, "virtual IP", weight="bold")


def _row(body: list[str], plan: Plan, row: list[_Rack], top: float, width: int) -> float:
    """Draw one row of racks from ``top`` with the planes below it; return where it ends."""
    rack_bottom = top + 38 + max((_inner(rack) for rack in row), default=34)
    networks = list(plan.networks.values())
    lane_top = rack_bottom + 26
    body.append(_text(MARGIN, top + 20, "racks", weight="bold"))
    for position, network in enumerate(networks):
        _lane(body, network, lane_top + position * LANE, width)
    for position, rack in enumerate(row):
        x = LEFT + MARGIN + position * (RACK + GAP)
        _rack(body, plan, rack, x, top, height=rack_bottom - top)
        reached = {port.network for host in rack.hosts for port in host.interfaces}
        if any(host.bmc for host in rack.hosts):
            reached |= {network.name for network in networks if network.purpose == "oob"}
        step = RACK / (len(networks) + 1)
        for index, network in enumerate(networks):
            if network.name in reached:
                place, end = x + step * (index + 1), lane_top + index * LANE + 8
                colour = PURPOSES[network.purpose].colour
                body.append(_line(place, rack_bottom, place, end, colour))
                body.append(
                    f'<circle cx="{place:g}" cy="{end:g}" r="4.5" fill="{PAPER}" stroke="{colour}" stroke-width="2"/>'
                )
    return lane_top + len(networks) * LANE


def _slot(rack: _Rack) -> int:
    """Return the height of one machine: with its address where there is room, its name alone in a full rack."""
    return 34 if len(rack.hosts) <= 8 else 20 if len(rack.hosts) <= 16 else 11


def _inner(rack: _Rack) -> int:
    return min(len(rack.hosts), DRAWN) * _slot(rack) + (16 if len(rack.hosts) > DRAWN else 0)


def _rack(body: list[str], plan: Plan, rack: _Rack, x: float, top: float, *, height: float) -> None:
    holds_vip = [host for host in rack.hosts if host.name in plan.edge.hosts]
    if holds_vip:
        middle = x + RACK / 2
        body.append(_line(middle, 136, middle, top, ROLES["control"].colour, dash="4 3"))
    body.append(_box(x, top, RACK, height, fill="#f5f7f9", stroke=FRAME, radius=5))
    many = f"{rack.alike} racks" if rack.alike > 1 else str(len(rack.hosts))
    body.append(_text(x + 8, top + 19, _cut(rack.title, 12), size=11 if rack.alike > 1 else 12, weight="bold"))
    body.append(_text(x + RACK - 8, top + 19, many, size=10, fill=FAINT, anchor="end"))
    y, slot = top + 30, _slot(rack)
    for host in rack.hosts[:DRAWN]:
        body.append(_box(x + 6, y, RACK - 12, slot - 2, fill=PAPER, stroke=FRAME, radius=2))
        part = (slot - 2) / len(host.roles)
        for index, role in enumerate(host.roles):
            body.append(_box(x + 6, y + index * part, 7, part, fill=ROLES[role].colour, radius=0))
        if slot >= 34:
            body.append(_text(x + 19, y + 14, _cut(host.name, 17), size=11))
            body.append(_text(x + 19, y + 27, host.address or "no address", size=10, fill=FAINT))
        else:
            body.append(
                _text(x + 19, y + slot / 2 + 2, _cut(host.name, 17 if slot > 11 else 24), size=11 if slot > 11 else 8)
            )
        y += slot
    if len(rack.hosts) > DRAWN:
        body.append(_text(x + 19, y + 12, f"and {len(rack.hosts) - DRAWN} more", size=10, fill=FAINT))


def _cut(words: str, length: int) -> str:
    return words if len(words) <= length else f"{words[: length - 3]}..."


def _lane(body: list[str], network: NetworkPlan, y: float, width: int) -> None:
    colour = PURPOSES[network.purpose].colour
    body.append(_box(LEFT + MARGIN, y + 2, width - LEFT - 2 * MARGIN, 12, fill=colour, radius=6))
    named = network.name if network.name == network.purpose else f"{network.name} ({network.purpose})"
    body.append(_text(MARGIN, y + 9, _cut(named, 32), weight="bold", fill=colour))
    tagged = f"VLAN {network.vlan}" if network.vlan else "untagged"
    body.append(_text(MARGIN, y + 24, f"{network.cidr} · {tagged} · MTU {network.mtu}", size=10, fill=FAINT))


def _footer(body: list[str], plan: Plan, top: float, width: int) -> int:
    """Write what has no place in the picture below ``top``; return the height of the whole."""
    cluster = plan.kubernetes
    body.append(_line(MARGIN, top - 12, width - MARGIN, top - 12, FRAME, width=1))
    facts = [
        f"inside the cluster: pods {cluster.pod_cidr} · Services {cluster.service_cidr} · DNS {cluster.dns_address}"
        f" · etcd members {cluster.etcd_members} · volumes {cluster.storage_backend}",
        f"releases: {', '.join(release.name for release in plan.openstack.releases) or 'none'}"
        f" · supply: {plan.supply.source} from {plan.supply.registry}",
    ]
    counted = Counter(finding.severity for finding in plan.findings)
    found = ", ".join(
        f"{counted[severity]} {severity}" for severity in ("error", "warning", "info") if counted[severity]
    )
    facts.append(f"findings: {found or 'none'}")
    y = top + 8
    for fact in facts:
        body.append(_text(MARGIN, y, fact, size=11))
        y += 18
    for finding in plan.findings[:6]:
        colour = {"error": "#b8323a", "warning": "#c98a00", "info": FAINT}[finding.severity]
        body.append(
            _text(
                MARGIN + 12, y, _cut(f"{finding.name}: {finding.what}", int((width - 80) / 6.4)), size=10, fill=colour
            )
        )
        y += 16
    return int(y + 10)
