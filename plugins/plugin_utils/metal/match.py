"""Match discovered machines to those of the site file: by their identifiers, else by hardware. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ...module_utils._base.text import printable
from ..plan.layout.wires import plain
from ..plan.platform.metal import from_network
from ..plan.types import HostPlan, NetworkPlan, Plan
from .controller import Controller, doubt
from .disks import lacks_system_disk
from .sighting import Sighting
from .way import Card, State

_SPARE = 0.9  # required share of memory: firmware reserves some


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The result of matching a discovered machine."""

    state: State  # discovered, matched, approved or quarantined
    host: str = ""
    why: str = ""
    card: Card | None = None
    ports: Mapping[str, str] = field(default_factory=dict)  # network -> MAC address


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """The discovered hardware of a machine of the site; stored beside its journal."""

    node: str
    serial: str
    bmc: str = ""  # of former versions, which believed what a machine said of its controller
    macs: tuple[str, ...]
    ports: Mapping[str, str]

    def of(self, host: HostPlan, networks: Mapping[str, NetworkPlan]) -> HostPlan:
        """Return ``host`` with the discovered addresses, and links for ports that the site file leaves out."""
        ports = tuple(replace(port, mac=port.mac or self.ports.get(port.network)) for port in host.interfaces)
        bmc = {**(host.bmc or {}), **({"address": self.bmc} if self.bmc else {})}
        told = {link.network for link in host.links}
        found = plain(tuple(port for port in ports if port.network not in told), networks)
        return replace(host, interfaces=ports, bmc=bmc, links=(*host.links, *found))


def match(
    plan: Plan, hosts: Sequence[HostPlan], seen: Sequence[Sighting], taken: Mapping[str, Identity],
    controllers: Mapping[str, Controller] | None = None,
) -> dict[str, Verdict]:  # fmt: skip
    """Return the verdict on each of ``seen``, by its node.

    ``hosts``: machines of the site that wait for a match. ``taken``: identities of matched ones. ``controllers``:
    reports of the controllers of ``hosts``. Both are by name.
    """
    found = _twice(seen, taken)
    free = {host.name: host for host in hosts}
    claims: dict[str, list[Sighting]] = {}
    for one in seen:
        if one.node in found:
            continue
        names = _named(plan, one)
        if len(names) > 1:
            found[one.node] = _quarantined(
                f"it is {' and '.join(f'{name} by its {how}' for name, how in names.items())}",
                "nobody knows which of them it is",
                "correct serial, MAC address or bmc.address in the site file",
            )
        for name in names if len(names) == 1 else ():
            claims.setdefault(name, []).append(one)
    for name, claimants in claims.items():
        if len(claimants) > 1 or name not in free:
            for one in claimants:
                found[one.node] = _quarantined(
                    f"it says that it is {name}, and so does another",
                    "the wrong one would be written over",
                    "see both; correct the site file, or take the wrong one off the network",
                )
            free.pop(name, None)
            continue
        (one,) = claimants
        how = _named(plan, one)[name]
        own = (controllers or {}).get(name, Controller())
        found[one.node] = _matched(plan, free.pop(name), one, own, why=f"by its {how}")
    found.update(_fit(plan, free, [one for one in seen if one.node not in found], controllers or {}))
    return found


def lacks(plan: Plan, host: HostPlan, one: Sighting, *, size: bool = True) -> list[str]:
    """Return what ``one`` lacks to be ``host``; without ``size``, only system disk and ports count."""
    found = []
    needs = plan.preflight.hardware.get(host.hardware)
    # For a machine that boots from virtual media, only ports with a MAC address in the site file count.
    ports = [port for port in host.interfaces if port.mac or from_network(host)]
    wired = [port for port in ports if plan.networks[port.network].vlan is None or port.mac]
    if needs and size:
        if one.cores < needs["cores"]:
            found.append(f"{one.cores} of {needs['cores']} cores")
        if one.memory_mib < needs["memory_gb"] * 1024 * _SPARE:
            found.append(f"{one.memory_mib / 1024:.1f} of {needs['memory_gb']} GiB of memory")
        speeds = [nic.gbps for nic in one.nics if nic.gbps]
        if speeds and max(speeds) < needs["nic_gbps"]:
            found.append(f"{max(speeds):g} of {needs['nic_gbps']} Gbit/s")
        if needs["nvme"] and not any(disk.name.startswith("nvme") for disk in one.disks):
            found.append("no NVMe disk")
    if missing := lacks_system_disk(one.disks, host.system_disk):
        found.append(missing)
    if len(one.nics) < len(wired):
        found.append(f"{len(one.nics)} of {len(wired)} network ports")
    found += [
        f"no port {port.mac} ({port.network})" for port in host.interfaces if port.mac and port.mac not in one.macs
    ]
    return found


def judge(plan: Plan, host: HostPlan, one: Sighting) -> Card | None:
    """Return why ``one`` must not be installed as ``host``, None when it may."""
    missing = lacks(plan, host, one, size=plan.preflight.hardware_required)
    if host.serial and one.serial and host.serial != one.serial:
        missing.append(f"serial {one.serial}, not {host.serial}")
    if missing:
        return Card(
            what=f"it is not what the plan says: {', '.join(missing)}",
            why="nothing is written to a machine that differs from its plan",
            remedy="see its disks, ports and cabling, or correct hardware and MAC addresses in the site file",
        )
    return _unasked(host.name, one)


def ports_of(plan: Plan, host: HostPlan, one: Sighting) -> dict[str, str] | str:
    """Return the MAC addresses of the ports of ``host``, by network; or why they are unknown."""
    found = {port.network: port.mac for port in host.interfaces if port.mac}
    rest = [port.network for port in host.interfaces if not port.mac]
    boot = next((name for name in rest if plan.networks[name].purpose == "provisioning"), None)
    if boot and one.boots in one.macs:
        found[boot] = one.boots
        rest.remove(boot)
    free = [nic.mac for nic in one.nics if nic.carrier and nic.mac not in found.values()]
    if len(rest) == 1 and len(free) == 1:
        return {**found, rest[0]: free[0]}
    if rest:
        return f"{len(free)} of its ports have a cable beside the one it boots from, for {', '.join(rest)}"
    return found


def _twice(seen: Sequence[Sighting], taken: Mapping[str, Identity]) -> dict[str, Verdict]:
    """Quarantine machines with a serial number, MAC address or controller that another machine has, too."""
    serials = Counter(one.serial for one in seen if one.serial)
    macs = Counter(mac for one in seen for mac in one.macs)
    owners = {identity.serial: name for name, identity in taken.items() if identity.serial}
    owners.update({mac: name for name, identity in taken.items() for mac in identity.macs})
    owners.update({identity.bmc: name for name, identity in taken.items() if identity.bmc})
    bmcs = Counter(one.bmc for one in seen if one.bmc)
    found = {}
    for one in seen:
        words = [word for word in (one.serial, *sorted(one.macs), one.bmc) if word]
        same = [word for word in words if serials[word] > 1 or macs[word] > 1 or bmcs[word] > 1]
        stolen = [word for word in words if word in owners]
        if stolen:
            what = f"it has {stolen[0]} of {owners[stolen[0]]}, which is another machine"
        elif same:
            what = f"it has {same[0]}, and so does another machine"
        else:
            continue
        found[one.node] = _quarantined(
            what, "machines are known by serial number, MAC addresses and management controller",
            "see both machines; correct the one that was set wrongly, then switch it on again",
        )  # fmt: skip
    return found


def _named(plan: Plan, one: Sighting) -> dict[str, str]:
    """Return the machines of the site that ``one`` is by an identifier or approval, each with how it was identified."""
    if one.approved in plan.hosts:
        return {one.approved: "approval"}
    found: dict[str, str] = {}
    for host in plan.hosts.values():
        if host.serial and one.serial == host.serial:
            found.setdefault(host.name, f"serial number {one.serial}")
        for port in host.interfaces:
            if port.mac and port.mac in one.macs:
                found.setdefault(host.name, f"MAC address {port.mac}")
        if one.bmc and host.bmc and host.bmc.get("address") == one.bmc:
            found.setdefault(host.name, f"management controller {one.bmc}")
    return found


def _fit(
    plan: Plan, free: Mapping[str, HostPlan], seen: Iterable[Sighting], controllers: Mapping[str, Controller]
) -> dict[str, Verdict]:
    """Match the remaining machines by hardware: give the most demanding host the smallest machine that fits.

    Where a host's controller reports its machine, only that machine fits: another would be switched off in its place.
    """

    def demand(host: HostPlan) -> tuple[int, int]:
        needs = plan.preflight.hardware.get(host.hardware) or {"memory_gb": 0, "cores": 0}
        return -needs["memory_gb"], -needs["cores"]

    found: dict[str, Verdict] = {}
    rest = sorted(seen, key=lambda one: (one.memory_mib, one.cores, one.boots))
    unnamed = [host for host in free.values() if not host.serial and not any(port.mac for port in host.interfaces)]
    alone = len(unnamed) == 1
    for host in sorted(unnamed, key=demand):
        own = controllers.get(host.name, Controller())
        candidates = [(own.has(one), one) for one in rest if own.has(one) is not False]
        candidates = [(has, one) for has, one in candidates if not lacks(plan, host, one)]
        candidates.sort(key=lambda pair: pair[0] is not True)
        if not candidates:
            continue
        has, fits = candidates[0]
        rest.remove(fits)
        if has or alone:
            found[fits.node] = _matched(plan, host, fits, own, why="it fits")
        else:
            found[fits.node] = _quarantined(
                f"it fits {host.name}, and nobody knows which management controller is its own",
                "another machine would be switched off and on in its place",
                f"write machines.{host.group}.machines.{host.name}.serial: {fits.serial or '...'} and its bmc.address",
            )
    for one in rest:
        missing = min((lacks(plan, host, one) for host in unnamed), key=len, default=[])
        found[one.node] = _quarantined(
            f"it has {', '.join(missing)}" if missing else "no machine of the site is waited for",
            "it fits no machine that the site file has, and is left as it is",
            "write it into the site file, by serial or MAC address; or take it off the network",
        )
    return found


def _matched(plan: Plan, host: HostPlan, one: Sighting, own: Controller, *, why: str) -> Verdict:
    """Return the verdict on ``one``, which says it is ``host``; ``own``: what the host's controller says."""
    planned, written = str((host.bmc or {}).get("address")), f"machines.{host.group}.machines.{host.name}"
    has = own.has(one)
    if has is False:
        return _quarantined(
            f"it is {host.name} ({why}), but the management controller {planned} has another machine: {own}",
            "a machine can claim any serial number and MAC address; another would be switched off and on in its place",
            f"see both machines; correct {written}.bmc.address, or take this one off the network",
        )
    if one.bmc and one.bmc != planned and not has:
        return _quarantined(
            f"it is {host.name} ({why}), but says that its management controller is {printable(one.bmc)[:80]}",
            "what a machine says is no proof: the password of the site's controller would be sent there",
            f"see that machine; write {written}.bmc.address if it is right",
        )
    ports = ports_of(plan, host, one)
    if missing := lacks(plan, host, one, size=plan.preflight.hardware_required):
        ports = f"it has {', '.join(missing)}"
    if isinstance(ports, str):
        card = Card(
            what=f"it is {host.name} ({why}), but {ports}",
            why="its network would be another than the plan's",
            remedy=f"see its cabling, or write {written}.ports.<network>.mac",
        )
        return Verdict(state="quarantined", host=host.name, why=why, card=card)
    card_ = _unasked(host.name, one)
    reason = doubt(host, one, own)
    if not card_ and reason and one.approved != host.name:
        card_ = Card(
            what=f"it is {host.name} ({why}) and waits for approval: {one}",
            why=f"{reason}; nothing is written to it until somebody says so",
            remedy=_approve(host.name),
            asks=one.shown,
        )
    return Verdict(state="matched" if card_ else "approved", host=host.name, why=why, card=card_, ports=ports)


def _unasked(name: str, one: Sighting) -> Card | None:
    """Return the card of a machine with used disks, None when all their contents were approved."""
    approved = one.approved_disks if one.approved == name else ()
    new = [line for line in one.contents if line not in approved]
    if not new:
        return None
    what = f"its disks are in use and it waits for approval: {one.used}"
    if approved:
        gone = [line for line in approved if line not in one.contents]
        what = f"its disks are not as they were approved, and it waits for approval again: {'; '.join(new)}"
        what += f"; approved was: {'; '.join(gone)}" if gone else ""
    return Card(what=what, why="they would be written over", remedy=_approve(name), asks=one.shown)


def _approve(name: str) -> str:
    return f"approve it on the seed's page or by groundup.cloud.approve -e approve_machine={name}, then run this again"


def _quarantined(what: str, why: str, remedy: str) -> Verdict:
    return Verdict(state="quarantined", card=Card(what=what, why=why, remedy=remedy))
