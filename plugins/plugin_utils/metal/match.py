"""Match discovered machines to those of the site file: by their identifiers, else by hardware. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ...module_utils._base.identifiers import serial_key
from ...module_utils._base.text import few, printable
from ..plan.layout.wires import plain, with_macs
from ..plan.platform.metal import to_discover
from ..plan.types import HostPlan, NetworkPlan, Plan
from .cabling import nics_of
from .cards import denied, doubt, question, unasked, unconfirmed
from .controller import Controller, distinct
from .hardware import lacks, ports_of
from .sighting import Sighting
from .way import MachineCard, State

_SEE = "see that machine; take it off the network if it is not the site's"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The result of matching a discovered machine."""

    state: State  # discovered, matched, approved or quarantined
    host: str = ""
    why: str = ""
    card: MachineCard | None = None
    ports: Mapping[str, str] = field(default_factory=dict)  # network -> MAC address
    nics: Mapping[str, str] = field(default_factory=dict)  # port of the cabling -> MAC address


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineIdentity:
    """The discovered hardware of a machine of the site; stored beside its journal."""

    node: str
    serial: str
    bmc: str = ""  # of former versions, which believed what a machine said of its controller
    macs: tuple[str, ...]
    ports: Mapping[str, str]
    nics: Mapping[str, str] = field(default_factory=dict)  # port of the cabling -> MAC address

    def of(self, host: HostPlan, networks: Mapping[str, NetworkPlan]) -> HostPlan:
        """Return ``host`` with the discovered addresses, and links for ports that the site file leaves out.

        It has no links where its cabling left the site file after it was found: nothing says where its networks are.
        """
        ports = tuple(replace(port, mac=port.mac or self.ports.get(port.network)) for port in host.interfaces)
        bmc = {**(host.bmc or {}), **({"address": self.bmc} if self.bmc else {})}
        told = {link.network for link in host.links}
        rest = tuple(port for port in ports if port.network not in told)
        lost = any(networks[port.network].purpose == "management" and not port.mac for port in rest)
        links = () if lost else (*with_macs(host.links, self.nics), *plain(rest, networks))
        return replace(host, interfaces=ports, bmc=bmc, links=links)


def match(
    plan: Plan, hosts: Sequence[HostPlan], seen: Sequence[Sighting], taken: Mapping[str, MachineIdentity],
    controllers: Mapping[str, Controller] | None = None,
) -> dict[str, Verdict]:  # fmt: skip
    """Return the verdict on each of ``seen``, by its node.

    ``hosts``: machines of the site that wait for a match. ``taken``: identities of matched ones. ``controllers``:
    reports of the controllers of ``hosts``. Both are by name.
    """
    told = distinct(controllers or {})
    free = {host.name: host for host in hosts}
    found: dict[str, Verdict] = {}
    claims: dict[str, list[Sighting]] = {}
    seen = unique(seen, taken)
    for one in seen:
        names, owner = _named(plan, one), _owner(plan, one, taken)
        if owner and owner not in free:
            found[one.node] = _quarantined(
                f"it says that its management controller is {one.bmc}, which is the one of {owner}",
                f"{owner} would be switched off and on in its place", _SEE,
            )  # fmt: skip
        elif len(names) > 1:
            found[one.node] = _quarantined(
                f"it is {' and '.join(f'{name} by its {how}' for name, how in names.items())}",
                "nobody knows which of them it is",
                "correct serial, MAC address or bmc.address in the site file",
            )
        elif (odd := _odd(plan, one)) and not names:
            found[one.node] = odd
        elif one.shared and not names:
            found[one.node] = _quarantined(
                one.shared, "machines are known by serial number and MAC addresses",
                "see both machines; write ports.<network>.mac of both, or take the wrong one off the network",
            )  # fmt: skip
        for name in names if one.node not in found else ():
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
        found[one.node] = _matched(plan, free.pop(name), one, told, why=f"by its {how}")
    found.update(_fit(plan, free, [one for one in seen if one.node not in found], told))
    return found


def unique(seen: Sequence[Sighting], taken: Mapping[str, MachineIdentity]) -> list[Sighting]:
    """Return ``seen`` without what several machines have: a repeated serial number or MAC address identifies none."""
    serials = Counter(serial_key(one.serial) for one in seen if one.serial)
    macs, bmcs = Counter(mac for one in seen for mac in one.macs), Counter(one.bmc for one in seen if one.bmc)
    owners = {serial_key(identity.serial): name for name, identity in taken.items() if identity.serial}
    owners.update({mac: name for name, identity in taken.items() for mac in identity.macs})

    def other(key: str, count: int) -> str:
        if key in owners:
            return f" of {owners[key]}, which is another machine"
        return ", and so does another machine" if count > 1 else ""

    found = []
    for one in seen:
        key = serial_key(one.serial)
        twin = other(key, serials[key]) if one.serial else ""
        same = [f"it has {one.serial}{twin}"] if twin else []
        doubled = {nic.mac: who for nic in one.nics if (who := other(nic.mac, macs[nic.mac]))}
        odd = tuple(replace(nic, odd="another machine has its MAC address") for nic in one.nics if nic.mac in doubled)
        if odd and (one.boots in doubled or len(odd) == len(one.nics)):
            mac = one.boots if one.boots in doubled else odd[0].mac
            same.append(f"it has {mac}{doubled[mac]}")
        if bmcs[one.bmc] > 1:
            same.append(f"it has {one.bmc}, and so does another machine")
        found.append(
            replace(
                one,
                serial="" if twin else one.serial,
                bmc="" if bmcs[one.bmc] > 1 else one.bmc,
                nics=tuple(nic for nic in one.nics if nic.mac not in doubled),
                odd=(*one.odd, *odd),
                shared="".join(same[:1]),
            )
        )
    return found


def judge(plan: Plan, host: HostPlan, one: Sighting, controller: Controller | None = None) -> MachineCard | None:
    """Return why ``one`` must not be installed as ``host``, None when it may. ``controller``: what its own one says."""
    if missing := lacks(plan, host, one, size=plan.preflight.hardware_required):
        return MachineCard(
            what=f"it is not what the plan says: {', '.join(missing)}",
            why="nothing is written to a machine that differs from its plan",
            remedy="see its disks, ports and cabling, or correct hardware and MAC addresses in the site file",
        )
    own = controller or Controller()
    if card := denied(host, one, own):
        return card
    known = not to_discover(plan.hosts[host.name], plan.networks)
    reason = unconfirmed(host, one, own) if known else ""  # of a discovered one that was asked before
    return unasked(host.name, one) or question(host, one, "by the MAC address it boots from", reason)


def _odd(plan: Plan, one: Sighting) -> Verdict | None:
    """Return the verdict on a machine of which the site file has a port that tells no machines apart, else None."""
    ports = {nic.mac: nic for nic in one.odd}
    for host in plan.hosts.values():
        if nic := next((ports[port.mac] for port in host.interfaces if port.mac in ports), None):
            return _quarantined(
                f"the site file has {nic.mac} for {host.name}, which is its {printable(nic.name)[:32]} ({nic.odd})",
                "such a MAC address tells no machines apart",
                f"write the MAC address of another port of {host.name}, or see both machines",
            )
    return None


def _owner(plan: Plan, one: Sighting, taken: Mapping[str, MachineIdentity]) -> str:
    """Return the machine of the site whose controller ``one`` says to have, "" when it says none or an unknown one."""
    owners = {str((host.bmc or {}).get("address")): name for name, host in plan.hosts.items()}
    owners.update({identity.bmc: name for name, identity in taken.items()})
    return owners.get(one.bmc, "") if one.bmc else ""


def _named(plan: Plan, one: Sighting) -> dict[str, str]:
    """Return the machines of the site that ``one`` is by an identifier or approval, each with how it was identified."""
    if one.approved in plan.hosts:
        return {one.approved: "approval"}
    found: dict[str, str] = {}
    for host in plan.hosts.values():
        if host.serial and one.serial and serial_key(one.serial) == serial_key(host.serial):
            found.setdefault(host.name, f"serial number {one.serial}")
        for port in host.interfaces:
            if port.mac and port.mac in one.macs:
                found.setdefault(host.name, f"MAC address {port.mac}")
        if one.bmc and (host.bmc or {}).get("address") == one.bmc:
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
        candidates = [one for one in rest if own.has(one) is not False and not lacks(plan, host, one)]
        # One of which a part agrees is a candidate, too: somebody may approve it.
        candidates.sort(key=lambda one: (not own.has(one), not own.has_some(one)))
        if not candidates:
            continue
        fits = candidates[0]
        rest.remove(fits)
        if own.has_some(fits) or alone:
            found[fits.node] = _matched(plan, host, fits, controllers, why="it fits")
        else:
            found[fits.node] = _quarantined(
                f"it fits {host.name}, and nobody knows which management controller is its own",
                "another machine would be switched off and on in its place",
                f"write machines.{host.group}.machines.{host.name}.serial: {fits.serial or '...'} and its bmc.address",
            )
    known = [f"{name}: {said}" for name, said in controllers.items() if name in free and str(said)]
    known += [f"{name}: serial {host.serial} in the site file" for name, host in free.items() if host.serial]
    for one in rest:
        compared = ((lacks(plan, host, one), host.name) for host in unnamed)
        missing, name = min(compared, key=lambda pair: len(pair[0]), default=([], ""))
        who = f"serial {one.serial or 'unknown'}, {few(sorted(one.macs), most=3)}"
        none = "no machine of the site is waited for"
        if known:
            none = f"it is {who}, and none that is waited for is that ({few(known, most=4)})"
        found[one.node] = _quarantined(
            f"it has {', '.join(missing)}; compared with {name}" if missing else none,
            "it fits no machine that the site file has, and is left as it is",
            "write it into the site file, by serial or MAC address; or take it off the network",
        )
    return found


def _matched(plan: Plan, host: HostPlan, one: Sighting, told: Mapping[str, Controller], *, why: str) -> Verdict:
    """Return the verdict on ``one``, which is ``host`` by what it says; ``told``: what controllers say."""
    planned, written = str((host.bmc or {}).get("address")), f"machines.{host.group}.machines.{host.name}"
    own = told.get(host.name, Controller())
    others = [name for name, said in told.items() if name != host.name and said.has_some(one)]
    card = denied(host, one, own)
    if not card and others:
        card = MachineCard(
            what=f"it is {host.name} ({why}), but its management controller is that of {others[0]}",
            why=f"{host.name} would be switched off and on in its place, or {others[0]}",
            remedy=f"compare bmc.address, serial and MAC addresses of {host.name} and {others[0]} with the machines",
        )
    if not card and one.bmc and one.bmc != planned and not own.has(one):
        card = MachineCard(
            what=f"it is {host.name} ({why}), but says that its management controller is {printable(one.bmc)[:80]}",
            why="what a machine says is no proof: the password of the site's controller would be sent there",
            remedy=f"see that machine; write {written}.bmc.address if it is right",
        )
    ports = ports_of(plan, host, one)
    if missing := lacks(plan, host, one, size=plan.preflight.hardware_required):
        ports = f"it has {', '.join(missing)}"
    if not card and isinstance(ports, str):
        card = MachineCard(
            what=f"it is {host.name} ({why}), but {ports}",
            why="its network would be another than the plan's",
            remedy=f"see its cabling, or write {written}.ports.<network>.mac",
        )
    if card or isinstance(ports, str):
        return Verdict(state="quarantined", host=host.name, why=why, card=card)
    card = unasked(host.name, one) or question(host, one, why, doubt(host, one, own))
    state: State = "matched" if card else "approved"
    return Verdict(state=state, host=host.name, why=why, card=card, ports=ports, nics=nics_of(host, one))


def _quarantined(what: str, why: str, remedy: str) -> Verdict:
    return Verdict(state="quarantined", card=MachineCard(what=what, why=why, remedy=remedy))
