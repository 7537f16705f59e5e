"""Lay out the site: networks, and hosts with their addresses, labels, packages and kernel settings."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ....module_utils._plan.container import Purpose
from ...layers.layers import sets_of
from ...layers.packages import OF_THE_MACHINE
from ...layers.provisioners import PROVISIONERS
from ...layers.purposes import PURPOSES
from ...layers.roles import RACK_LABEL, ROLES, Role
from ...layers.storage import BACKENDS
from ...services import RECORDS
from ..model import Site
from ..model.machines import Bmc, Hardware, Machine, MachineGroup
from ..model.networks import Network
from ..types import HostPlan, NetworkPlan
from .addresses import nth_of, shares
from .context import Layout, Member, roles_of, size_of
from .interfaces import interface_names, ports_of
from .names import expand_names, number_in
from .notes import machine_without_number, name_twice, rack_full
from .places import NO_RACK, place_of
from .profiles import HARDWARE, PROFILES
from .wires import wire


def lay_out(site: Site) -> Layout:
    """Return the networks and hosts of ``site``. Values that do not fit are left out of the host, with a finding."""
    profile = PROFILES[site.profile]
    written = _networks(site)
    layout = Layout(
        site=site,
        profile=profile,
        written=written,
        networks={name: _network_plan(name, network) for name, network in written.items()},
        shares={name: shares(network) for name, network in written.items()},
        racks={name: rack.number or number_in(name) for name, rack in site.racks.items()},
        hardware={**HARDWARE, **site.hardware},
    )
    names, nodes = interface_names(layout), NodeRules(site)
    for group_name, group in site.machines.items():
        roles = roles_of(group_name, group)
        labels, taints = nodes.labels(roles, group), nodes.taints(roles, group)
        settings = {own: own_settings(site, roles, node=nodes.is_node(roles), own_kernel=own) for own in (True, False)}
        ports = ports_of(layout, names, roles, group)
        hardware = group.hardware or ROLES[roles[0]].hardware[site.profile]
        beyond: list[str] = []  # machines beyond their rack's block of addresses
        for member in _members(site, group_name, group, layout.racks):
            if member.name in layout.hosts:
                first = next(known.key for known in layout.members if known.name == member.name)
                layout.findings.append(name_twice(member.key, member.name, first))
                continue
            layout.members.append(member)
            own = member.own
            address, interfaces, bmc_address = ports.of_member(member)
            bmc = _bmc(group.bmc, own.bmc if own else None, bmc_address)
            provisioner = group.provisioner or ("ironic" if bmc else profile.provisioner)
            kind = (own.hardware if own else None) or hardware
            wired = wire(layout, member, group, interfaces, hardware=kind, provisioner=provisioner)
            has = settings[PROVISIONERS[provisioner].own_kernel]
            zone, place_labels = place_of(site, roles, group, member.rack)
            layout.hosts[member.name] = HostPlan(
                name=member.name,
                fqdn=f"{member.name}.{site.domain}",
                group=group_name,
                roles=roles,
                rack=member.rack,
                hardware=kind,
                provisioner=provisioner,
                address=address,
                interfaces=wired.interfaces,
                links=wired.links,
                bmc=bmc,
                serial=own.serial if own else None,
                system_disk=_system_disk(own, layout.hardware.get(kind)),
                host_key=site.access.host_keys.get(member.name),
                node_labels={**labels, RACK_LABEL: member.rack} if labels else {},
                node_taints=taints,
                zone=zone,
                place_labels=place_labels,
                approve=group.approve,
                packages=has.packages,
                sysctl=has.sysctl,
                kernel_modules=has.kernel_modules,
            )
            if member.number is None and not address:
                if group.per_rack is not None and (number_in(member.name) or 0) > group.slots_per_rack:
                    beyond.append(member.name)
                else:
                    layout.findings.append(machine_without_number(member.key, member.name))
        if beyond:
            layout.findings.append(rack_full(f"machines.{group_name}", group.slots_per_rack, beyond))
        layout.findings += ports.findings(f"machines.{group_name}", roles[0])
    return layout


def _system_disk(own: Machine | None, hardware: Hardware | None) -> dict[str, Any] | None:
    """Return the criteria for a machine's system disk: its own, else its hardware profile's."""
    said = (own and own.system_disk) or (hardware and hardware.system_disk)
    return said.model_dump(exclude_none=True) if said else None


def _networks(site: Site) -> dict[str, Network]:
    """Return the written networks, and the profile's networks for further purposes that the site needs."""
    found = dict(site.networks)
    have = {network.purpose or name for name, network in found.items()}
    roles = {role for name, group in site.machines.items() for role in roles_of(name, group)}
    records = [RECORDS[name] for name in site.openstack.services if name in RECORDS]
    roles |= {record.plans_for for record in records if record.plans_for}
    needed = {"management", *BACKENDS[site.storage.backend].networks}
    needed.update(purpose for role in roles for purpose in ROLES[role].brings)
    if any(group.bmc or any(machine.bmc for machine in group.machines.values()) for group in site.machines.values()):
        needed |= {"provisioning", "oob"}
    for purpose, record in PURPOSES.items():
        if site.profile in record.cidr and purpose in needed - have and purpose not in found:
            found[purpose] = Network(cidr=record.cidr[site.profile])
    return found


def _network_plan(name: str, network: Network) -> NetworkPlan:
    purpose: Purpose = network.purpose or name  # type: ignore[assignment]  # `validation` made sure
    gateway = network.gateway or (nth_of(network.cidr, 1) if PURPOSES[purpose].routed else None)
    return NetworkPlan(
        name=name,
        purpose=purpose,
        cidr=network.cidr,
        gateway=None if gateway == "none" else gateway,
        vlan=network.vlan,
        mtu=network.mtu or 1500,
        pools=tuple(map(_ends, network.pool or ())),
        default=network.default,
    )


def _ends(written: str) -> tuple[str, str]:
    first, _, last = written.partition("-")
    return first, last


def _members(site: Site, group_name: str, group: MachineGroup, racks: dict[str, int | None]) -> Iterator[Member]:
    base = f"machines.{group_name}"
    for name, rack, number, in_rack in _places(site, group_name, group, racks):
        own = group.machines.get(name)
        if own is None:
            yield Member(name, group_name, rack, number, in_rack, None, base)
        else:
            key = f"{base}.machines.{name}"
            yield Member(name, group_name, own.rack or rack, own.number or number, own.number or in_rack, own, key)


def _places(
    site: Site, group_name: str, group: MachineGroup, racks: dict[str, int | None]
) -> Iterator[tuple[str, str, int | None, int | None]]:
    """Yield each machine's name, rack, place in its role's share (None: unknown, or its block is full) and in its rack.

    The place in the rack counts on networks with a subnet per rack. Without `per_rack` both places are the same.
    """
    if group.per_rack is not None:
        for rack in dict.fromkeys(group.racks or site.racks):
            place = racks.get(rack) or number_in(rack)
            start = None if place is None else group.offset + (place - 1) * group.slots_per_rack
            for number in range(1, group.per_rack + 1):
                fits = start is not None and number <= group.slots_per_rack
                whole = start + number if fits and start is not None else None
                yield f"{group_name}-{rack}-{number}", rack, whole, group.offset + number
        return
    spread = group.racks or [group.rack or NO_RACK]
    if group.count is not None:
        for number in range(1, group.count + 1):
            place = number + group.offset
            yield f"{group_name}-{number}", spread[(number - 1) % len(spread)], place, place
        return
    for expression in group.names or ():
        for name in expand_names(expression):
            found = number_in(name)
            place = None if found is None else found + group.offset
            yield name, spread[((found or 1) - 1) % len(spread)], place, place


def _bmc(common: Bmc | None, own: Bmc | None, allotted: str | None) -> dict[str, object] | None:
    if not common and not own:
        return None
    merged = {**(common.model_dump() if common else {}), **(own.model_dump(exclude_unset=bool(common)) if own else {})}
    merged["address"] = merged.get("address") or allotted
    return merged


class NodeRules:
    """Labels and taints by role."""

    def __init__(self, site: Site) -> None:
        groups = [(name, group) for name, group in site.machines.items() if size_of(site, group)]
        present = {role for name, group in groups for role in roles_of(name, group)}
        self._nodes = {name for name, role in ROLES.items() if role.node} | BACKENDS[site.storage.backend].nodes
        # The control taint needs other nodes that take pods: without them nothing could run.
        self._tainted = PROFILES[site.profile].control_taint and any(map(_takes_pods, present))

    def labels(self, roles: tuple[Role, ...], group: MachineGroup) -> dict[str, str]:
        """Return the labels of a machine with ``roles``; empty when it is not a node of the cluster."""
        if not self.is_node(roles):
            return {}
        labels = dict(group.labels)
        for role in roles:
            if _takes_pods(role) or not self._tainted:
                labels |= ROLES[role].labels
            labels[f"groundup.cloud/{role}"] = "true"
        return labels

    def taints(self, roles: tuple[Role, ...], group: MachineGroup) -> tuple[str, ...]:
        if not self.is_node(roles):
            return ()
        tainted = self._tainted and not any(map(_takes_pods, roles))
        own = [taint for role in roles if tainted and (taint := ROLES[role].taint)]
        return (*own, *group.taints)

    def is_node(self, roles: tuple[Role, ...]) -> bool:
        """Say whether a machine with ``roles`` is a node of the cluster."""
        return not self._nodes.isdisjoint(roles)


def _takes_pods(role: Role) -> bool:
    return bool(ROLES[role].labels) and ROLES[role].taint is None


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnSettings:
    """Fields of a `HostPlan` that follow from the host's roles."""

    packages: dict[str, tuple[str, ...]]
    sysctl: dict[str, str]
    kernel_modules: tuple[str, ...]


def own_settings(site: Site, roles: tuple[Role, ...], *, node: bool, own_kernel: bool) -> OwnSettings:
    """Return packages and kernel settings of a host with ``roles``. Values of the site file win.

    A host that shares its kernel (``own_kernel`` is false) loads no module and sets only parameters of its network.
    """
    written, backend, general = site.hosts, site.storage.backend, site.storage.general
    packages: dict[str, set[str]] = {}
    sysctl: dict[str, str] = {}
    modules: list[str] = []
    for layer, one in sets_of(
        roles, node=node, services=site.openstack.services, backend=backend, general=general,
        monitoring=site.monitoring.enabled, own_kernel=own_kernel,
    ):  # fmt: skip
        if one.packages:
            packages.setdefault(layer, set()).update(one.packages)
        sysctl |= {n: v for n, v in one.sysctl.items() if own_kernel or _of_its_network(n)}
        modules += one.kernel_modules if own_kernel and written.kernel_modules is None else ()
    return OwnSettings(
        packages={layer: tuple(sorted(names)) for layer, names in packages.items()},
        sysctl={name: value for name, value in sysctl.items() if name not in written.sysctl},
        kernel_modules=tuple(dict.fromkeys(modules)),
    )


def _of_its_network(parameter: str) -> bool:
    return parameter.startswith("net.") and parameter not in OF_THE_MACHINE
