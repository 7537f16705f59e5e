"""Drain a hypervisor: disable it for new instances, then move its instances away, live where possible.

All state is Nova's own: run a killed drain again, and it continues with what Nova began meanwhile.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Literal

from openstack.exceptions import HttpException, NotFoundException

from ...module_utils._base.consent import Reason
from ...module_utils._base.text import few
from ..errors import GroundupError
from ..progress import Progress
from .administrator import GATEWAY
from .compute_host import COMPUTE, DRAIN, UNCONFIRMED, ComputeHost, called, disabling, evacuate, instances, migrations
from .connection import ERRORS, said

Way = Literal["live", "cold", "wait", "evacuate"]
_BUSY = ("BUILD", "MIGRATING", "RESIZE", "REBUILD")
_LIVE = ("ACTIVE", "PAUSED")
_ACTIONS = ("live-migration", "migrate", "confirmResize", "evacuate")


@dataclass(frozen=True, slots=True, kw_only=True)
class DrainOptions:
    cold: bool = False  # whether to stop an instance that cannot move live
    parallel: int = 2  # instances moving at once
    timeout: float = 1800.0  # seconds per instance
    pause: float = 2.0  # seconds between polls


@dataclass(slots=True, kw_only=True)
class Move:
    server: Any
    way: Way
    start: float
    confirmed: bool = False
    refused: list[str] = field(default_factory=list)  # Nova's reasons against earlier ways


def way_of(server: Any) -> Way:
    """Return how an instance can leave now: live, cold, or wait while it is busy."""
    if server["task_state"] or server["status"] in _BUSY:
        return "wait"
    return "cold" if server["status"] == "SHUTOFF" else "live"


def reasons(host: ComputeHost) -> Iterator[Reason]:
    """Yield reasons against a drain; ``force`` accepts none of them."""
    if host.servers and not host.up:
        text = (
            f"its {COMPUTE} is down, and {len(host.servers)} instance(s) are on it: only a running one hands them "
            f"over. A dead one: ansible-playbook groundup.cloud.evacuate -e machine={host.name}"
        )
        yield Reason(code=None, text=text)
    if host.servers and not host.others:
        yield Reason(code=None, text=f"no other hypervisor is up and enabled for its {len(host.servers)} instance(s)")


def foreseen(host: ComputeHost) -> list[str]:
    """Return a drain's actions, one line each."""
    lines = disabling(host, DRAIN)
    words = {"live": "live-migrate", "cold": "migrate", "wait": "wait for"}
    for server in host.servers:
        way = way_of(server)
        note = "" if way == "live" and server["status"] in _LIVE else f", which is {server['status']}"
        lines.append(f"{words[way]} {called(server)}{note}")
    lines += [
        f"confirm the {one['migration_type']} of {one['server_id']}"
        for one in host.migrations
        if one["status"] == UNCONFIRMED and one["migration_type"] == "migration"
    ]
    lines += [
        f"wait for the {one['migration_type']} of {one['server_id']} from {one['source_compute']}"
        for one in host.migrations
        if one["source_compute"] != host.name
    ]
    return lines


class Drain:
    """One drain under way."""

    verb = "drain"

    def __init__(self, compute: Any, name: str, options: DrainOptions, say: Progress) -> None:
        """Take Nova's API, the host, and what prints progress."""
        self.compute, self.name, self.options, self.say = compute, name, options, say
        self.clock: Callable[[], float] = time.monotonic
        self.done: list[dict[str, Any]] = []
        self.stuck: dict[str, str] = {}  # by id: Nova's reason
        self._moving: dict[str, Move] = {}
        self._unended_since: dict[str, float] = {}  # by migration id

    def run(self) -> None:
        """Move all instances away, ``parallel`` at once, late arrivals too. Record those that stay in ``stuck``."""
        while True:
            if room := self.options.parallel - len(self._moving):
                for server in self._waiting()[:room]:
                    self._begin(Move(server=server, way=self.way_of(server), start=self.clock()))
            unended = self._unended()  # read before instances: no arrival is missed between the two
            if not self._moving and not unended and not self._waiting():
                return
            for move in list(self._moving.values()):
                self._look(move)
            if self._moving or unended:
                time.sleep(self.options.pause)

    def way_of(self, server: Any) -> Way:
        """Return how an instance leaves now."""
        return way_of(server)

    def _unended(self) -> list[Any]:
        """Return unfinished migrations: an instance may still arrive, or Nova still cleans up after one that left."""
        found = [one for one in migrations(self.compute, self.name) if one["status"] != UNCONFIRMED]
        left = [one for one in found if str(one["server_id"]) not in self.stuck]
        for one in left:
            start = self._unended_since.setdefault(str(one["uuid"]), self.clock())
            if self.clock() - start > self.options.timeout:
                words = f"its {one['migration_type']} is still {one['status']} after {self.options.timeout:g} s"
                self.stuck[str(one["server_id"])] = f"{one['server_id']}: {words}; Nova goes on with it"
        return left

    def _waiting(self) -> list[Any]:
        """Return the instances to move next, late arrivals and unconfirmed migrations included."""
        ended = {str(one["id"]) for one in self.done}
        known = self._moving.keys() | self.stuck.keys()
        found = [one for one in instances(self.compute, self.name) if one["id"] not in known]
        seen = known | ended | {str(one["id"]) for one in found}
        for migration in migrations(self.compute, self.name):
            if migration["status"] == UNCONFIRMED and str(migration["server_id"]) not in seen:
                found += self._unconfirmed(migration)
        return found

    def _unconfirmed(self, migration: Any) -> Iterator[Any]:
        """Yield the instance of a migration to confirm: its disk is still here. Record a tenant's resize as stuck."""
        with suppress(NotFoundException):
            server = self.compute.get_server(migration["server_id"])
            if server["status"] != "VERIFY_RESIZE":
                return
            if migration["migration_type"] == "migration":
                yield server
                return
            reason = "its tenant has neither confirmed nor reverted its resize, and its former disk is here"
            self._stuck(Move(server=server, way="wait", start=self.clock()), reason)

    def _begin(self, move: Move) -> None:
        server = move.server
        if server["compute_host"] != self.name:
            move.way = "cold"  # moved by an earlier run, to be confirmed
        self._moving[str(server["id"])] = move
        try:
            if move.way == "live":
                self.compute.live_migrate_server(server["id"], block_migration="auto")
            elif move.way == "cold" and server["compute_host"] == self.name:
                self.compute.migrate_server(server["id"])
            elif move.way == "evacuate":
                evacuate(self.compute, server["id"])
        except NotFoundException:
            self._ended(move, "deleted meanwhile")
        except HttpException as error:
            self._failed(move, _refusal(error))

    def _look(self, move: Move) -> None:
        """Poll an instance; take its next step, or give up after the timeout."""
        try:
            server = self.compute.get_server(move.server["id"])
        except NotFoundException:
            self._ended(move, "deleted meanwhile")
            return
        if not server["task_state"] and server["status"] not in _BUSY:
            self._next(move, server)
        if str(server["id"]) in self._moving and self.clock() - move.start > self.options.timeout:
            now = f"{server['status']}{' (' + server['task_state'] + ')' if server['task_state'] else ''}"
            self._stuck(move, f"still {now} after {self.options.timeout:g} s; Nova goes on with it")

    def _next(self, move: Move, server: Any) -> None:
        """Take the next step with an instance that is not busy."""
        away = server["compute_host"] != self.name
        if away and server["status"] == "VERIFY_RESIZE":
            if move.way == "wait":  # begun by somebody else, or an earlier run: see `_unconfirmed`
                del self._moving[str(server["id"])]
            elif not move.confirmed:
                self._confirm(move)
        elif away and server["status"] == "ERROR":
            self._stuck(move, f"it is in ERROR on {server['compute_host']}: {why(self.compute, server)}")
        elif away:
            self._ended(move, f"to {server['compute_host']}")
        elif move.way == "wait":
            self._begin(Move(server=server, way=self.way_of(server), start=move.start))
        else:
            self._failed(move, why(self.compute, server))

    def _confirm(self, move: Move) -> None:
        move.confirmed = True
        try:
            self.compute.confirm_server_resize(move.server["id"])
        except NotFoundException:
            self._ended(move, "deleted meanwhile")
        except HttpException as error:
            self._stuck(move, f"its disk is still here: {_refusal(error)}")

    def _failed(self, move: Move, reason: str) -> None:
        """Retry cold if ``cold`` allows it; else record the instance as stuck."""
        if move.way == "live" and self.options.cold and move.server["status"] in _LIVE:
            self.say(f"[drain] {called(move.server)} does not move live: {reason}")
            again = Move(server=move.server, way="cold", start=move.start, refused=[f"live: {reason}"])
            self._begin(again)
            return
        self._stuck(move, "; ".join([*move.refused, f"{move.way}: {reason}"]))

    def _ended(self, move: Move, where: str) -> None:
        self._note(move, where)
        self.done.append({**self._plain(move), "result": where})

    def _stuck(self, move: Move, reason: str) -> None:
        self._note(move, f"stays: {reason}")
        self.stuck[str(move.server["id"])] = f"{called(move.server)}: {reason}"

    def _note(self, move: Move, text: str) -> None:
        self._moving.pop(str(move.server["id"]), None)
        plain = self._plain(move)
        self.say(f"[{self.verb}] {called(move.server)}  {plain['way']}  {plain['seconds']:.1f} s  {text}")

    def _plain(self, move: Move) -> dict[str, Any]:
        seconds = round(self.clock() - move.start, 1)
        return {"id": str(move.server["id"]), "name": str(move.server["name"]), "way": move.way, "seconds": seconds}


def why(compute: Any, server: Any) -> str:
    """Return Nova's reason for an instance's failed migration."""
    with suppress(*ERRORS):
        for action in compute.server_actions(server["id"]):  # newest first
            if action["action"] in _ACTIONS:
                whole = compute.get_server_action(action["request_id"], server["id"])
                return _words(whole["events"] or ()) or str(whole["message"] or "it says nothing")
    return str((server["fault"] or {}).get("message") or "it says nothing")


def refused(name: str, stuck: Collection[str], *, cold: bool) -> GroundupError:
    """Return the error for instances that did not move."""
    lines = "\n    ".join(stuck)
    consent = "" if cold else "; stop them while they move: -e '{\"drain_force\": [cold]}'"
    return GroundupError(
        f"{len(stuck)} instance(s) stay on {name}, or failed on their way:\n    {lines}",
        where=f"hypervisor {name}, which takes no new instances now",
        why="each is where its line says",
        remedy=f"put right what Nova says and run this again{consent}. To have it take instances again: "
        f"ansible-playbook groundup.cloud.undrain -e machine={name}",
    )


def remains(host: ComputeHost) -> list[str]:
    """Return what is missing for a host to be drained."""
    enabled = [f"its {COMPUTE} is enabled"] if host.disabled is None and host.service is not None else []
    return [*enabled, *occupants(host)]


def occupants(host: ComputeHost) -> list[str]:
    """Return a host's instances and unfinished migrations, one text per kind."""
    found = [f"instances {few(called(one) for one in host.servers)}"] if host.servers else []
    if host.migrations:
        found.append(f"migrations not ended of {few(one['server_id'] for one in host.migrations)}")
    return found


def _refusal(error: HttpException) -> str:
    """Return Nova's own text; raise a gateway error, which only says that Nova was not reached."""
    if getattr(error, "status_code", 0) in GATEWAY:
        raise error
    return str(getattr(error, "details", "") or said(error))


def _words(events: Iterable[Any]) -> str:
    """Return the last traceback line of the first failed event; its details when Nova shows no traceback."""
    found: list[str] = []
    for event in events:
        if str(event["result"] or "").lower() == "error":
            lines = [line for line in str(event["traceback"] or "").splitlines() if line.strip()]
            text = (lines[-1].strip() if lines else "") or str(event["details"] or "")
            if text and text not in found:
                found.append(text)
    return found[0] if found else ""
