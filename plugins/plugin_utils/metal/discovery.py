"""Discovered machines of one run: who they are, whether they may go on, and the journal of those who may not."""

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
from .identity import identities, identity, identity_file
from .journal import Journal, file_of
from .match import Controller, Identity, Verdict, match
from .sighting import Sighting, read
from .way import DISCOVERED, Card, State, Step

PAUSE = 5.0  # seconds between two looks


@dataclass(kw_only=True)
class Discovery:
    """Hands out discovered machines to those who wait for them."""

    ironic: Ironic
    plan: Plan
    home: Path  # of journals
    say: Callable[[str], None]
    seconds: float  # that a machine may take to show itself
    password: Callable[[str], str]  # of a controller, by its name in the secrets store
    sleep: Callable[[float], None] = field(default=time.sleep)
    left: threading.Event = field(default_factory=threading.Event)  # nobody is waited for any longer
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _verdicts: dict[str, tuple[Sighting, Verdict]] = field(default_factory=dict)  # by name of the host
    _looked: float = 0.0
    _told: dict[str, dict[str, Any]] = field(default_factory=dict)  # by node
    _echoes: set[str] = field(default_factory=set)  # nodes of machines that have another
    _controllers: dict[str, Controller] = field(default_factory=dict)

    def identified(self, host: HostPlan) -> HostPlan:
        """Return ``host`` with its MAC addresses, once it is known and may go on. Raises GroundupError."""
        if not to_discover(host, self.plan.networks):
            return host
        found = identity(self.home, host.name) or self._wait(host)
        deadline = time.monotonic() + self.seconds
        while True:
            try:
                with self._lock:
                    self._adopt(host, found)
                return found.of(host, self.plan.networks)
            except BusyError:
                if self.left.is_set() or time.monotonic() > deadline:
                    raise
                self.sleep(PAUSE)

    def look(self) -> dict[str, tuple[Sighting, Verdict]]:
        """Return the verdict on each discovered machine that is nobody's yet, by its node; journal it."""
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
                elif error := node.get("last_error"):  # else it is still being told
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
            self._told[node] = found  # Ironic hears none a second time
        return self._told.get(node)

    def _find_echoes(self, told: Mapping[str, dict[str, Any] | None]) -> None:
        """Note the nodes of machines that told of themselves twice at one moment: it is one machine, not two.

        Ironic makes a node each, and gives ports to one: a MAC address is there once.
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
        """Return what the controllers of ``hosts`` say of their machines; one that fails says nothing."""

        def ask(host: HostPlan) -> Controller:
            bmc = host.bmc or {}
            try:
                password = self.password(str(bmc.get("credentials")))
                told = self.ironic.controller(address=str(bmc["address"]), user=str(bmc["user"]), password=password)
                return Controller(serial=str(told["serial"]), macs=frozenset(map(str, told["macs"])))
            except (GroundupError, KeyError, TypeError):
                return Controller()

        new = [host for host in hosts if host.name not in self._controllers]
        with ThreadPoolExecutor(max_workers=8) as pool:
            self._controllers.update(zip((host.name for host in new), pool.map(ask, new), strict=True))
        return self._controllers

    def waiting(self, name: str) -> Sighting:
        """Return the machine that waits to become ``name``. Raises GroundupError."""
        for sighting, verdict in self.look().values():
            if verdict.host == name and verdict.state != "quarantined":
                return sighting
        node = self.ironic.node(name)
        if node and node["provision_state"] != "active" and (told := self.ironic.inventory(name)):
            with suppress(ValueError):  # garbage was shown to nobody
                return read(node, told)
        raise GroundupError(
            f"no machine waits to become {name}",
            where=name,
            why="what is approved is a machine that was seen, not any that may come",
            remedy="run the playbook groundup.cloud.ironic when it is switched on, and see what it says of it",
        )

    def approve(self, name: str, *, about: str) -> str:
        """Let the machine go on that waits to become ``name``; return which it is. Raises GroundupError.

        ``about``: what somebody saw (`Sighting.shown`); another machine, or other disks, are not approved.
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
            self.ironic.now(found.node)  # or its way goes on by a listing without the mark
            self._looked = float("-inf")  # the verdict on it is another now
        return str(found)

    def _wait(self, host: HostPlan) -> Identity:
        deadline = time.monotonic() + self.seconds
        journal = Journal(file_of(self.home, host.name))
        while True:
            with self._lock:
                if time.monotonic() - self._looked > PAUSE / 2:
                    with suppress(BusyError):  # the seed starts again
                        self._verdicts = {
                            verdict.host: (sighting, verdict)
                            for sighting, verdict in self.look().values()
                            if verdict.host
                        }
                    for node in self._echoes & set(self._told):
                        with suppress(GroundupError):  # at the next look
                            self.ironic.delete(node)
                            del self._told[node]
                    self._looked = time.monotonic()
                sighting, verdict = self._verdicts.get(host.name, (None, None))
            if sighting and verdict:
                self._tell(journal, host.name, Step(state="discovered", verb="wait", doing=str(sighting)))
                state: State = "quarantined" if verdict.state == "quarantined" else "matched"
                self._tell(journal, host.name, Step(state=state, verb="wait", doing=verdict.why, card=verdict.card))
                if verdict.card:
                    raise _refused(host.name, verdict.card)
                self._tell(journal, host.name, Step(state="approved", verb="wait", doing=f"approve: {host.approve}"))
                found = Identity(
                    node=sighting.node, serial=sighting.serial, bmc=sighting.bmc, macs=tuple(sorted(sighting.macs)),
                    ports=verdict.ports,
                )  # fmt: skip
                write_file(identity_file(self.home, host.name), json.dumps(asdict(found)).encode(), mode=0o600)
                return found
            doing = "it is waited for: it boots from the network and tells what it is"
            self._tell(journal, host.name, Step(state="expected", verb="wait", doing=doing))
            if self.left.is_set():
                raise left_behind(host.name, f"expected, {doing}")
            if time.monotonic() > deadline:
                raise self._unseen(host, journal)
            self.sleep(PAUSE)

    def _unseen(self, host: HostPlan, journal: Journal) -> GroundupError:
        others = [f"{sighting}: {verdict.card.what}" for sighting, verdict in self.look().values() if verdict.card]
        card = Card(
            what="no machine that boots from the network is this one" + (f"; there is {others[0]}" if others else ""),
            why=f"{self.seconds:g} s without one; the site file writes no MAC address of the port it boots from",
            remedy="switch it on, and see its boot order and cable; on the seed: journalctl -u groundup-netboot",
        )
        journal.note(Step(state="failed", verb="fail", card=card))
        return _refused(host.name, card)

    def _adopt(self, host: HostPlan, found: Identity) -> None:
        """Give the discovered node its machine's name; one that has it stays."""
        # Not by a listing, which may be older than the machine: a second node would be made of it.
        if self.ironic.now(host.name) is None and self.ironic.now(found.node) is not None:
            extra = {"/extra/site": self.plan.site, "/extra/rack": host.rack, f"/extra/{DISCOVERED}": True}
            self.ironic.change(found.node, {"/name": host.name, **extra})
            self.ironic.now(host.name)  # the way of the machine goes on from here

    def _tell(self, journal: Journal, name: str, step: Step) -> None:
        if journal.note(step):
            self.say(f"{name}: {step.state}, {step.card.what if step.card else step.doing}")

    def _note(self, one: Sighting, verdict: Verdict, told: Mapping[str, Any]) -> None:
        """Keep the inventory of a machine that is nobody's yet, and where it is on its way."""
        place = self.home / "discovered" / one.boots.replace(":", "-")
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        text = json.dumps(told, indent=1).encode()
        if not place.with_suffix(".json").exists() or place.with_suffix(".json").read_bytes() != text:
            write_file(place.with_suffix(".json"), text, mode=0o600)
        journal = Journal(place.with_suffix(".jsonl"))
        if not journal.reached("discovered"):
            self._tell(journal, one.boots, Step(state="discovered", verb="wait", doing=str(one)))
        doing = f"{verdict.host} {verdict.why}".strip()
        self._tell(journal, one.boots, Step(state=verdict.state, verb="wait", doing=doing, card=verdict.card))

    def _note_garbage(self, node: str, said: str) -> None:
        card = Card(
            what=said, why="a machine is matched by its inventory",
            remedy="see what calls the seed: journalctl -u ironic; switch the machine on again",
        )  # fmt: skip
        journal = Journal(self.home / "discovered" / f"{node}.jsonl")
        self._tell(journal, node, Step(state="quarantined", verb="fail", card=card))


def _refused(name: str, card: Card) -> GroundupError:
    return GroundupError(card.what, where=name, why=card.why, remedy=card.remedy)


def known_macs(plan: Plan, home: Path) -> list[dict[str, str]]:
    """Return who is given which address on the network provisioning: machines whose port there is known."""
    found: list[dict[str, str]] = []
    for name, host in plan.hosts.items():
        who = identity(home, name)
        ports: Sequence[Any] = (who.of(host, plan.networks) if who else host).interfaces
        found += [
            {"mac": port.mac, "address": port.address, "name": name}
            for port in ports
            if port.mac and port.address and plan.networks[port.network].purpose == "provisioning"
        ]
    return found
