"""The seed's runner, a service: configures machines that called home, with or without a controller.

It polls `groundup-contact`, which stores the calls: it configures each machine that was registered with layers and has
called, and reports progress there, where controllers read it. All its state is on disk: after a restart it continues.
"""

from __future__ import annotations

import argparse
import os
import shutil
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ...module_utils._base import files
from ...module_utils._base.changes import Changes
from ...module_utils._base.locks import locked
from ...module_utils._ironic.runner import USER
from ..errors import GroundupError
from ..paths import state_dir
from ..plan import Plan, SiteError, load_site, make_plan
from .api import Ironic
from .install import remember
from .journal import Journal, file_of, home_of
from .runner import Runner
from .way import MachineCard, WayStep

PAUSES = (5.0, 30.0, 120.0, 300.0)  # seconds before another try; more than a controller's: no operator is at hand
REST = ("serving", "failed")
MOST, LONGEST = 40, 600  # reported lines of a machine, and characters of a text
_UNKNOWN = MachineCard(
    what="it called home, and the seed's copy of the site file has no such machine",
    why="what is to be run on it follows from the site file",
    remedy="run the playbook groundup.cloud.ironic, which sends the site file",
)
_FAULT = MachineCard(
    what="",
    why="this is a fault of groundup.cloud",
    remedy="report it, with journalctl -u groundup-runner; the other machines are not concerned",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """A machine that called home, and the layers to run on it."""

    name: str
    called: float
    layers: tuple[str, ...]
    host_keys: tuple[str, ...]
    again: float  # time of a controller's retry; 0: never
    told: Sequence[Mapping[str, Any]]  # its progress as stored by `groundup-contact`

    @property
    def mark(self) -> str:
        """Identifier of this order among the machine's. Its times are compared for equality only."""
        return f"{self.called} {self.again}"


def orders(calls: Mapping[str, Mapping[str, Any]]) -> list[Order]:
    """Return the orders of machines that called, by time of call. Machines without layers are left to a controller."""
    found = [
        Order(
            name=name,
            called=float(call["called"]),
            layers=tuple(call["layers"]),
            host_keys=tuple(call["host_keys"]),
            again=float(call.get("again", 0)),
            told=call.get("way", ()),
        )
        for name, call in calls.items()
        if call.get("layers") and call.get("called")
    ]
    return sorted(found, key=lambda order: order.called)


def begins(order: Order, taken: str, state: str) -> str:
    """Return why ``order`` starts, "" when it was started already; ``taken``: mark of the last order that started."""
    if taken.split(" ", maxsplit=1)[0] != str(order.called):
        return "it called home"
    return "begun again" if taken != order.mark and state == "failed" else ""


def way_of(lines: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the lines since the machine's last call, limited in number and length."""
    starts = [number for number, line in enumerate(lines) if line.get("state") == "installed"]
    if not starts:
        return []
    first, *rest = lines[starts[-1] :]
    return [_short(line) for line in (first, *rest[-MOST:])]


def _short(line: Mapping[str, Any]) -> dict[str, Any]:
    card = {key: str(value)[:LONGEST] for key, value in (line.get("card") or {}).items()}
    return {**line, "doing": str(line.get("doing") or "")[:LONGEST], "card": card or None}


@dataclass(kw_only=True)
class Service:
    site_file: Path
    ironic: Ironic
    at_once: int
    pause: float
    say: Callable[[str], None]
    variables: Mapping[str, Any]
    pauses: Sequence[float] = PAUSES
    _busy: dict[str, Future[None]] = field(default_factory=dict)
    _plan: tuple[bytes, Plan] | None = None
    _said: list[str] = field(default_factory=list)

    def run(self) -> None:
        """Run until the process ends."""
        slots = threading.Semaphore(self.at_once)
        # Many threads: machines that wait for a retry or a slot must not block others.
        with ThreadPoolExecutor(max_workers=1024) as pool:
            while True:
                for order, plan in self.turn():
                    self._busy[order.name] = pool.submit(self._configure, order, plan, slots)
                time.sleep(self.pause)

    def turn(self) -> list[tuple[Order, Plan]]:
        """Report every machine's progress; return the machines whose configuration starts or continues."""
        found, begin, faults = list[tuple[Order, Plan]](), list[tuple[Order, Plan]](), list[str]()
        try:
            found = [(order, self._read()) for order in orders(self.ironic.calls())]
        except (GroundupError, SiteError, OSError) as error:  # the seed starts, or the site file is invalid
            faults.append(str(error))
        for order, plan in found:
            try:
                if self._look(order, home_of(plan.site)):
                    begin.append((order, plan))
            except OSError as error:  # must not stop other machines
                faults.append(f"{order.name}: {error}")
        if faults and faults != self._said:
            self.say("\n".join(faults))
        self._said = faults
        return begin

    def _read(self) -> Plan:
        """Return the plan of the present site file."""
        text = self.site_file.read_bytes()
        if self._plan is None or self._plan[0] != text:
            self._plan = text, make_plan(load_site(self.site_file))
        return self._plan[1]

    def _look(self, order: Order, home: Path) -> bool:
        """Report a machine's progress; return whether to start or continue its configuration."""
        journal, taken = Journal(file_of(home, order.name)), home / f".{order.name}.order"
        running = order.name in self._busy and not self._busy[order.name].done()
        mark = (files.read(taken) or "") if journal.last else ""
        if not mark and order.told:  # the journal was lost, and the seed restored: take the lines it stored
            for line in order.told:
                journal.add(line)
            mark = order.mark
            files.write_file(taken, mark.encode(), mode=0o600)
        if not running and (why := begins(order, mark, str(journal.last.get("state")))):
            journal.note(WayStep(state="installed", verb="done", doing=why))
            files.write_file(taken, order.mark.encode(), mode=0o600)
        elif mark.split(" ")[0] != str(order.called):
            return False  # a run of an earlier call must end first
        lines = journal.lines()
        self._tell(order, way_of(lines))
        return not running and lines[-1].get("state") not in REST

    def _tell(self, order: Order, way: Sequence[Mapping[str, Any]]) -> None:
        if way == list(order.told):
            return
        try:
            self.ironic.tell(order.name, called=order.called, way=way)
        except GroundupError as error:  # retried at the next turn
            self.say(f"{order.name}: the seed was not told where it is: {error.what}")

    def _configure(self, order: Order, plan: Plan, slots: threading.Semaphore) -> None:
        home = home_of(plan.site)
        try:
            self._know(plan, order)
            Runner(
                site_file=self.site_file, home=home, layers=order.layers, say=self.say, pauses=self.pauses, slots=slots,
                variables=self.variables,
            ).configure(order.name)  # fmt: skip
        except GroundupError as error:
            self.say(f"{order.name}: failed, {error.what}")
        except Exception as error:  # noqa: BLE001  # must not stop other machines
            card = replace(_FAULT, what=f"{type(error).__name__}: {error}")
            self.say(f"{order.name}: failed, {_fails(home, order.name, card).what}")

    @staticmethod
    def _know(plan: Plan, order: Order) -> None:
        """Write the host keys of the call to known_hosts. Raises GroundupError when the plan lacks the machine."""
        host = plan.hosts.get(order.name)
        if host is None:
            raise _fails(home_of(plan.site), order.name, _UNKNOWN)
        remember(Changes(check=False), state_dir(plan.site) / "ssh/known_hosts", plan, host, order.host_keys)


def _fails(home: Path, name: str, card: MachineCard) -> GroundupError:
    Journal(file_of(home, name)).note(WayStep(state="failed", verb="fail", card=card))
    return card.at(name)


def main(argv: Sequence[str] | None = None) -> None:
    """Serve until the process ends."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--site-file", type=Path, required=True)
    parser.add_argument("--contact", required=True, help="URL of the service that keeps the calls")
    parser.add_argument("--ca", type=Path, required=True)
    parser.add_argument("--password", type=Path, required=True, help="file of our password there")
    parser.add_argument("--key", type=Path, required=True, help="ssh key of the runner's own")
    parser.add_argument("--public", type=Path, required=True, help="directory of the site's files that layers read")
    parser.add_argument("--at-once", type=int, default=10)
    parser.add_argument("--pause", type=float, default=5.0)
    parser.add_argument("--pauses", type=float, nargs="+", default=PAUSES)
    given = parser.parse_args(argv)
    home = Path(os.environ["GROUNDUP_STATE"])
    # Copied to files of this account: root placed them, and writes to no directory of this account.
    shutil.copytree(given.public, home / load_site(given.site_file).site, dirs_exist_ok=True)
    ironic = Ironic(
        api=given.contact, media=given.contact, ca=given.ca, user=USER,
        password=given.password.read_text(encoding="utf-8").strip(),
    )  # fmt: skip
    service = Service(
        site_file=given.site_file, ironic=ironic, at_once=given.at_once, pause=given.pause, pauses=given.pauses,
        say=lambda line: print(line, flush=True),
        variables={"ansible_ssh_private_key_file": str(given.key)},
    )  # fmt: skip
    with locked(home / ".service.lock", timeout=60):  # only one instance
        print(f"waits for calls of machines: {given.contact}, {time.strftime('%F %T')}", flush=True)
        service.run()


if __name__ == "__main__":
    main()
