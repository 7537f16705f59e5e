"""Machines: each needed role has one, identities are unique, references exist, hardware suffices."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from ....module_utils._base.identifiers import serial_key
from ....module_utils._base.text import few
from ...layers.layers import ABSENT, LAYERS, REFUSED
from ...layers.roles import ROLES, Role
from ...layers.storage import BACKENDS
from ...services import RECORDS
from ..form import choose, error, finding, info
from ..layout.context import PlanContext
from ..model.machines import Hardware
from ..types import Finding


def check(context: PlanContext) -> Iterator[Finding]:
    """Yield findings about roles, identities, racks and hardware."""
    yield from _roles(context)
    yield from _identities(context)
    yield from _references(context)
    yield from _hardware(context)
    yield from _needed(context)
    yield from _mixed(context)
    yield from _controllers(context)


def _roles(context: PlanContext) -> Iterator[Finding]:
    site = context.site
    needed: dict[Role, tuple[str, str]] = {
        "control": ("machines", "the API, etcd and the virtual IP live on control hosts")
    }
    if not site.supply.registry:
        needed["seed"] = (
            "supply.registry",
            "the seed serves images and packages: nothing above it reaches the internet",
        )
    for record in (RECORDS[name] for name in site.openstack.services if name in RECORDS):
        if record.runs_on:
            role, why = record.runs_on
            needed[role] = ("openstack.services", why)
    if BACKENDS[site.storage.backend].layer:
        needed["storage"] = ("storage.backend", f"{site.storage.backend} runs Ceph on storage hosts")
    for role, (key, why) in needed.items():
        if not context.layout.with_role(role):
            count = 3 if role in ("control", "storage") and context.layout.profile.production else 1
            remedy = f"write machines.{role}: {{count: {count}}}"
            yield error("role-without-machine", *tuple(dict.fromkeys((key, "machines"))))(
                what=f"no machine has the role {role}",
                why=why,
                remedy=f"{remedy}, or supply.registry" if role == "seed" else remedy,
            )


def _identities(context: PlanContext) -> Iterator[Finding]:
    macs: list[tuple[str, str]] = []
    serials: list[tuple[str, str]] = []  # in one notation: firmware and label differ in case and hyphens
    bmcs: list[tuple[str, str]] = []
    keys = {member.name: member.key for member in context.layout.members}
    for host in context.plan.hosts.values():
        key = keys[host.name]
        ports = [link.mac for link in host.links if link.kind == "port" and link.mac]
        ports += [port.mac for port in host.interfaces if port.mac and port.mac not in ports]
        macs += [(mac, key) for mac in ports]
        if host.serial:
            serials.append((serial_key(host.serial), key))
        if host.bmc:
            macs += [(host.bmc["mac"], key)] if host.bmc["mac"] else []
            bmcs += [(host.bmc["address"], key)] if host.bmc["address"] else []
    yield from _used_twice("duplicate-mac", "MAC address", macs, "a machine that boots is known by it")
    yield from _used_twice("duplicate-serial", "serial number", serials, "a discovered machine is matched by it")
    yield from _used_twice(
        "duplicate-bmc", "management controller", bmcs, "the wrong machine would be powered off or erased"
    )


def _used_twice(name: str, noun: str, pairs: Iterable[tuple[str, str]], why: str) -> Iterator[Finding]:
    found: dict[str, list[str]] = {}
    for value, key in pairs:
        found.setdefault(value, []).append(key)
    for value, keys in found.items():
        if len(keys) > 1:
            yield error(name, *tuple(dict.fromkeys(keys)))(
                what=f"the {noun} {value!a} is written for {len(keys)} machines",
                why=why,
                remedy="correct all but one of them",
            )


def _references(context: PlanContext) -> Iterator[Finding]:
    names = {member.name for member in context.layout.members}
    hardware, racks = context.layout.hardware, context.site.racks
    for group_name, group in context.site.machines.items():
        base = f"machines.{group_name}"
        members = [member.name for member in context.layout.members if member.group == group_name]
        for name, own in group.machines.items():
            if name not in names or name not in members:
                yield _unknown("unknown-machine", f"{base}.machines.{name}", "machine of this group", name, members)
            if own.hardware and own.hardware not in hardware:
                yield _unknown(
                    "unknown-hardware", f"{base}.machines.{name}.hardware", "hardware profile", own.hardware, hardware,
                    f"hardware.{own.hardware}",
                )  # fmt: skip
            if racks and own.rack and own.rack not in racks:
                yield _unknown("unknown-rack", f"{base}.machines.{name}.rack", "rack", own.rack, racks)
        if group.hardware and group.hardware not in hardware:
            yield _unknown(
                "unknown-hardware", f"{base}.hardware", "hardware profile", group.hardware, hardware,
                f"hardware.{group.hardware}",
            )  # fmt: skip
        for rack in [group.rack] if group.rack else (group.racks or []):
            if racks and rack not in racks:
                yield _unknown("unknown-rack", base, "rack", rack, racks)
    groups = {"all", "ungrouped", ABSENT, REFUSED, *ROLES, *(layer.group for layer in LAYERS.values())}
    for name in sorted(names & groups):
        yield error("reserved-name", "machines")(
            what=f"a machine is called {name}",
            why="a group of the inventory has that name (or Ansible itself): a play for one would run on the other",
            remedy=f"call it {name}-1",
        )
    yield from _public_names(context)
    numbers = Counter(number for number in context.layout.racks.values() if number is not None)
    spread = {rack for group in context.site.machines.values() if group.per_rack for rack in group.racks or racks}
    for number, _count in ((n, c) for n, c in numbers.items() if c > 1):
        same = [name for name, value in context.layout.racks.items() if value == number and name in spread]
        if len(same) > 1:
            yield error("duplicate-rack-number", *tuple(f"racks.{name}" for name in same))(
                what=f"{' and '.join(same)} both have the number {number}",
                why="a rack's number is its block of addresses: their machines would get the same ones",
                remedy="write `number` for one of them",
            )


def _public_names(context: PlanContext) -> Iterator[Finding]:
    """Yield machines whose own name equals a public name of the virtual IP or of the seed."""
    plan = context.plan
    public = {endpoint.name: "a public API's" for endpoint in plan.edge.endpoints}
    if plan.supply.seed:
        public[f"registry.{plan.domain}"] = "the registry's"
    for host in plan.hosts.values():
        if host.fqdn in public and plan.host.names[host.fqdn] == host.address and host.name != plan.supply.seed:
            yield error("reserved-name", "machines")(
                what=f"a machine is called {host.name}: {host.fqdn} is {public[host.fqdn]} name",
                why="every host would look for it on that one machine",
                remedy=f"call it {host.name}-1",
            )


def _unknown(name: str, key: str, noun: str, value: str, known: Iterable[str], *more: str) -> Finding:
    """Return the finding about ``value`` at ``key``. ``more``: keys where it could be defined instead."""
    return error(name, key, *more)(
        what=f"there is no {noun} {value}",
        why="what is written there would have no effect, or the wrong one",
        remedy=choose(value, known),
    )


def _hardware(context: PlanContext) -> Iterator[Finding]:
    """Yield hardware profiles smaller than the role's minimum in the site's profile."""
    layout, seen = context.layout, set()
    for host in context.plan.hosts.values():
        has = layout.hardware.get(host.hardware)
        for role in host.roles:
            expected = ROLES[role].hardware[context.site.profile]
            if has is None or host.hardware == expected or (host.hardware, role) in seen:
                continue
            seen.add((host.hardware, role))
            lacking = _lacking(has, layout.hardware[expected])
            if lacking:
                yield finding(
                    "hardware-too-small",
                    "error" if layout.profile.large else "warning",
                    f"hardware.{host.hardware}",
                    "machines",
                )(
                    what=f"{host.hardware} of {host.name} has {', '.join(lacking)} ({role}, {context.site.profile})",
                    why="sizes follow from the hardware, requests of memory do not: pods stay pending or are slow",
                    remedy="use larger machines, or a profile for smaller ones (rack, edge)",
                )


def _needed(context: PlanContext) -> Iterator[Finding]:
    """Yield the hardware that preflight requires of a production site's machines."""
    if not context.plan.preflight.hardware_required:
        return
    counted = Counter(host.hardware for host in context.plan.hosts.values())
    needs = [
        f"{counted[name]} x {name}: {one['cores']} cores, {one['memory_gb']} GiB, {one['nic_gbps']} Gbit/s"
        + (", NVMe" if one["nvme"] else "")
        for name, one in context.plan.preflight.hardware.items()
    ]
    yield info("hardware-needed", "machines")(
        what="; ".join(needs),
        why="preflight refuses a machine with fewer cores or less memory before anything is changed",
        remedy="describe other machines under hardware, and name that in their group",
    )


def _lacking(has: Hardware, needs: Hardware) -> list[str]:
    found = []
    if has.cores < needs.cores:
        found.append(f"{has.cores} of {needs.cores} cores")
    if has.memory_gb < needs.memory_gb:
        found.append(f"{has.memory_gb} of {needs.memory_gb} GiB")
    if has.nic_gbps < needs.nic_gbps:
        found.append(f"{has.nic_gbps} of {needs.nic_gbps} Gbit/s")
    if needs.nvme and not has.nvme:
        found.append("no NVMe")
    return found


def _mixed(context: PlanContext) -> Iterator[Finding]:
    for host in context.layout.with_role("hypervisor"):
        if {"control", "worker"}.intersection(host.roles):
            yield finding(
                "tenants-on-infrastructure",
                "error" if context.layout.profile.large else "info",
                next(member.key for member in context.layout.members if member.name == host.name),
            )(
                what=f"{host.name} runs tenants' servers beside the control plane",
                why="a tenant that fills the machine, or breaks out of a guest, has the cloud",
                remedy="give hypervisors machines of their own",
            )
            return


def _controllers(context: PlanContext) -> Iterator[Finding]:
    lost = [host.name for host in context.plan.hosts.values() if host.bmc and not host.bmc["address"]]
    if lost and not context.layout.by_purpose("oob"):
        yield error("bmc-without-address", "machines", "networks")(
            what=f"machines whose BMC has no address: {few(lost)}",
            why="nobody can power them on",
            remedy="write a network with purpose oob, or an address for each",
        )
