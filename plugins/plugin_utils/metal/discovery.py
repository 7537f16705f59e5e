"""Identify discovered machines during a run: match them to the site file, and wait for approval."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from ...module_utils._base.files import write_file
from ..errors import GroundupError
from ..plan.platform.metal import to_discover
from ..plan.types import HostPlan, Plan
from .api import BusyError, Ironic
from .batch import left_behind
from .controller import Controller, ask
from .identity import as_found, identities, identity, identity_file
from .journal import Journal, file_of
from .match import MachineIdentity, Verdict, match
from .sighting import Sighting, read
from .way import DISCOVERED, MachineCard, State, WayStep

PAUSE = 5.0  # seconds between two looks


@dataclass(kw_only=True)
class MachineDiscovery:
    """Matches discovered machines to the hosts that wait for one."""

    ironic: Ironic
    plan: Plan
    home: Path  # of journals
    say: Callable[[str], None]
    seconds: float  # to wait for a machine to be discovered
    password: Callable[[str], str]  # of a controller, by its name in the secrets store
    sleep: Callable[[float], None] = field(default=time.sleep)
    left: threading.Event = field(default_factory=threading.Event)  # set when the run waits no longer
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _verdicts: dict[str, tuple[Sighting, Verdict]] = field(default_factory=dict)  # by name of the host
    _looked: float = 0.0
    _told: dict[str, dict[str, Any]] = field(default_factory=dict)  # inventories, by node
    _echoes: set[str] = field(default_factory=set)  # duplicate nodes of one machine
    _controllers: dict[str, Controller] = field(default_factory=dict)

    def identified(self, host: HostPlan) -> HostPlan:
        """Wait until ``host`` is discovered and approved; return it with its MAC addresses. Raises GroundupError."""
        if not to_discover(host, self.plan.networks):
            return host
        found = identity(self.home, host.name) or self._wait(host)
        deadline = time.monotonic() + self.seconds
        while True:
            try:
                with self._lock:
                    self._adopt(host, found)
                return _with_links(found.of(host, self.plan.networks))
            except BusyError:
                if self.left.is_set() or time.monotonic() > deadline:
                    raise
                self.sleep(PAUSE)

    def look(self) -> dict[str, tuple[Sighting, Verdict]]:
        """Match the discovered machines that have no identity yet; journal and return the verdicts, by node."""
        taken = identities(self.home, self.plan)
        nodes = [node for node in self.ironic.discovered() if node["uuid"] not in {one.node for one in taken.values()}]
        told = {node["uuid"]: self._told_of(node["uuid"]) for node in nodes}
        self._find_echoes(told)
        nodes = [node for node in nodes if node["uuid"] not in self._echoes]
        seen = {}
        for node in nodes:
            try:
                if (inventory := told[node["uuid"]]) is not None:
                    seen[node["uuid"]] = read(node, inventory)
                elif error := node.get("last_error"):  # else the inventory is still arriving
                    self._note_garbage(node["uuid"], f"what its ramdisk told is of no use: {error}")
            except ValueError as error:
                self._note_garbage(node["uuid"], str(error))
        waiting = [
            host for name, host in self.plan.hosts.items()
            if name not in taken and to_discover(host, self.plan.networks)
        ]  # fmt: skip
        verdicts = match(self.plan, waiting, list(seen.values()), taken, self._asked(waiting) if seen else {})
        for key, verdict in verdicts.items():
            self._note(seen[key], verdict, told[key] or {})
        return {key: (seen[key], verdict) for key, verdict in verdicts.items()}

    def _told_of(self, node: str) -> dict[str, Any] | None:
        if node not in self._told and (found := self.ironic.inventory(node)) is not None:
            self._told[node] = found  # never changes: Ironic takes an inventory once
        return self._told.get(node)

    def _find_echoes(self, told: Mapping[str, dict[str, Any] | None]) -> None:
        """Find duplicate nodes of a machine whose inventory was posted twice at once.

        Ironic creates a node for each, but ports for one only: a MAC address is unique.
        """
        same: dict[str, list[str]] = {}
        for node, found in told.items():
            if found is not None and node not in self._echoes:
                same.setdefault(json.dumps(found.get("inventory"), sort_keys=True), []).append(node)
        for nodes in same.values():
            bare = [node for node in nodes if len(nodes) > 1 and not self.ironic.macs(node)]
            if len(bare) == len(nodes) - 1:
                self._echoes.update(bare)

    def _asked(self, hosts: Sequence[HostPlan]) -> dict[str, Controller]:
        """Return serial and MAC addresses from the controllers of ``hosts``, by host; empty where one fails."""

        def asked(host: HostPlan) -> Controller:
            return ask(self.ironic, host, self.password(str((host.bmc or {}).get("credentials"))))

        new = [host for host in hosts if host.name not in self._controllers]
        with ThreadPoolExecutor(max_workers=8) as pool:
            self._controllers.update(zip((host.name for host in new), pool.map(asked, new), strict=True))
        return self._controllers

    def waiting(self, name: str) -> Sighting:
        """Return the machine that was matched to ``name``. Raises GroundupError when there is none."""
        for sighting, verdict in self.look().values():
            if verdict.host == name and verdict.state != "quarantined":
                return sighting
        node = self.ironic.node(name)
        if node and node["provision_state"] != "active" and (told := self.ironic.inventory(name)):
            with suppress(ValueError):  # an invalid inventory was never shown for approval
                return read(node, told)
        raise GroundupError(
            f"no machine waits to become {name}",
            where=name,
            why="what is approved is a machine that was seen, not any that may come",
            remedy="run the playbook groundup.cloud.ironic when it is switched on, and see what it says of it",
        )

    def approve(self, name: str, *, about: str) -> str:
        """Approve the machine that was matched to ``name``; return its description. Raises GroundupError.

        ``about``: the machine and disks that the operator saw (`Sighting.shown`). Refuse when either has changed.
        """
        with self._lock:
            found = self.waiting(name)
            if about != found.shown:
                other = about.partition("/")[0] != found.node
                what = f"another machine waits to become {name} by now" if other else "its disks are others by now"
                raise GroundupError(
                    f"{what}: {found}{f', {found.used}' if found.used else ''}",
                    where=name,
                    why="what is approved is the machine that was seen, with what was on its disks",
                    remedy="see it, then approve it again",
                )
            self.ironic.change(found.node, {f"/extra/{key}": value for key, value in found.approval(name).items()})
            self.ironic.now(found.node)  # update the listing, which lacks the approval
            self._looked = float("-inf")  # match again
        return str(found)

    def _wait(self, host: HostPlan) -> MachineIdentity:
        deadline = time.monotonic() + self.seconds
        journal = Journal(file_of(self.home, host.name))
        while True:
            with self._lock:
                if time.monotonic() - self._looked > PAUSE / 2:
                    with suppress(BusyError):  # the seed restarts
                        self._verdicts = {
                            verdict.host: (sighting, verdict)
                            for sighting, verdict in self.look().values()
                            if verdict.host
                        }
                    for node in self._echoes & set(self._told):
                        with suppress(GroundupError):  # retried at the next look
                            self.ironic.delete(node)
                            del self._told[node]
                    self._looked = time.monotonic()
                sighting, verdict = self._verdicts.get(host.name, (None, None))
            if sighting and verdict:
                self._tell(journal, host.name, WayStep(state="discovered", verb="wait", doing=str(sighting)))
                state: State = "quarantined" if verdict.state == "quarantined" else "matched"
                self._tell(journal, host.name, WayStep(state=state, verb="wait", doing=verdict.why, card=verdict.card))
                if verdict.card:
                    raise verdict.card.at(host.name)
                self._tell(journal, host.name, WayStep(state="approved", verb="wait", doing=f"approve: {host.approve}"))
                found = MachineIdentity(
                    node=sighting.node, serial=sighting.serial, macs=tuple(sorted(sighting.macs)), ports=verdict.ports,
                    nics=verdict.nics,
                )  # fmt: skip
                write_file(identity_file(self.home, host.name), json.dumps(asdict(found)).encode(), mode=0o600)
                return found
            doing = "it is waited for: it boots from the network and tells what it is"
            self._tell(journal, host.name, WayStep(state="expected", verb="wait", doing=doing))
            if self.left.is_set():
                raise left_behind(host.name, f"expected, {doing}")
            if time.monotonic() > deadline:
                raise self._unseen(host, journal)
            self.sleep(PAUSE)

    def _unseen(self, host: HostPlan, journal: Journal) -> GroundupError:
        others = [f"{sighting}: {verdict.card.what}" for sighting, verdict in self.look().values() if verdict.card]
        card = MachineCard(
            what="no machine that boots from the network is this one" + (f"; there is {others[0]}" if others else ""),
            why=f"{self.seconds:g} s without one; the site file writes no MAC address of the port it boots from",
            remedy="switch it on, and see its boot order and cable; on the seed: journalctl -u groundup-netboot",
        )
        journal.note(WayStep(state="failed", verb="fail", card=card))
        return card.at(host.name)

    def _adopt(self, host: HostPlan, found: MachineIdentity) -> None:
        """Name the discovered node after its host, unless a node has that name already."""
        # Ask Ironic, not the listing: an old one may lack the machine, and a second node would be created.
        if self.ironic.now(host.name) is None and self.ironic.now(found.node) is not None:
            extra = {"/extra/site": self.plan.site, "/extra/rack": host.rack, f"/extra/{DISCOVERED}": True}
            self.ironic.change(found.node, {"/name": host.name, **extra})
            self.ironic.now(host.name)  # update the listing

    def _tell(self, journal: Journal, name: str, step: WayStep) -> None:
        if journal.note(step):
            self.say(f"{name}: {step.state}, {step.card.what if step.card else step.doing}")

    def _note(self, one: Sighting, verdict: Verdict, told: Mapping[str, Any]) -> None:
        """Store the inventory of a machine without an identity, and journal its state."""
        place = self.home / "discovered" / one.boots.replace(":", "-")
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        text = json.dumps(told, indent=1).encode()
        if not place.with_suffix(".json").exists() or place.with_suffix(".json").read_bytes() != text:
            write_file(place.with_suffix(".json"), text, mode=0o600)
        journal = Journal(place.with_suffix(".jsonl"))
        if not journal.reached("discovered"):
            self._tell(journal, one.boots, WayStep(state="discovered", verb="wait", doing=str(one)))
        doing = f"{verdict.host} {verdict.why}".strip()
        self._tell(journal, one.boots, WayStep(state=verdict.state, verb="wait", doing=doing, card=verdict.card))

    def _note_garbage(self, node: str, said: str) -> None:
        card = MachineCard(
            what=said, why="a machine is matched by its inventory",
            remedy="see what calls the seed: journalctl -u ironic; switch the machine on again",
        )  # fmt: skip
        journal = Journal(self.home / "discovered" / f"{node}.jsonl")
        self._tell(journal, node, WayStep(state="quarantined", verb="fail", card=card))


def _with_links(host: HostPlan) -> HostPlan:
    """Return ``host``. Raises GroundupError if nothing says which ports its networks are on."""
    if host.links:
        return host
    raise GroundupError(
        f"nothing says which port of {host.name} each of its networks is on",
        where=f"machines.{host.group}.wiring",
        why="its cabling left the site file after it was discovered: it would be installed without a network",
        remedy=f"write the cabling again; or ports.<network>.mac; or erase {host.name}, which has it discovered again",
    )


def known_macs(plan: Plan, home: Path) -> list[dict[str, str]]:
    """Return MAC address, address and name of each machine whose port on the provisioning network is known."""
    found: list[dict[str, str]] = []
    for name, host in plan.hosts.items():
        ports = as_found(home, host, plan.networks).interfaces
        found += [
            {"mac": port.mac, "address": port.address, "name": name}
            for port in ports
            if port.mac and port.address and plan.networks[port.network].purpose == "provisioning"
        ]
    return found
