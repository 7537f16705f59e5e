"""Act on operators' decisions about machines: approve or retry.

The seed's page keeps them, from browsers and from playbooks. A run reads the open ones, acts, journals who decided, and
answers. Without a run, a decision waits for the next.
"""

from __future__ import annotations

import getpass
import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ...module_utils._base.text import printable
from ..errors import GroundupError
from .api import BusyError
from .discovery import MachineDiscovery
from .journal import Journal, file_of
from .page import Page
from .way import WayStep, possible


def person() -> str:
    """Return the user and host that run the playbook."""
    return f"{getpass.getuser()} on {socket.gethostname()}, by a playbook"


@dataclass(kw_only=True)
class Desk:
    """Handler of decisions in one run."""

    page: Page | None
    discovered: MachineDiscovery
    home: Path  # of journals
    names: frozenset[str]  # machines of the run
    say: Callable[[str], None]
    again: set[str] = field(default_factory=set)  # machines to retry, with a new count of attempts

    def turn(self) -> list[str]:
        """Act on new decisions; return the machines to start again."""
        begin = []
        for record in self.page.decisions() if self.page else ():
            machine = str(record.get("machine"))
            if machine not in self.names:
                continue  # another run's
            try:
                refused = self.act(record)
            except BusyError:
                continue  # the seed restarts: the decision stays open
            begin += [] if refused else [machine]
            outcome = f"refused: {refused}" if refused else "done: a run goes on with it"
            if self.page and (why := self.page.answer(str(record.get("number")), outcome)):
                self.say(f"the seed's page was not told what became of {record.get('verb')} {machine}: {why}")
        return begin

    def act(self, record: Mapping[str, Any]) -> str:
        """Act on one decision and journal it; return why it is refused, "" when it is not. Raises BusyError."""
        machine, by = str(record["machine"]), printable(str(record.get("by")))
        journal = Journal(file_of(self.home, machine))
        try:
            if record.get("verb") == "approve":
                found = self.discovered.approve(machine, about=str(record.get("about") or ""))
                step = WayStep(state="approved", verb="wait", doing=f"approved by {by}: {found}")
            elif record.get("verb") == "retry":
                if journal.leaving or (why := possible(journal.last)["retry"]):
                    return "it is being retired" if journal.leaving else why
                self.again.add(machine)
                state = "installed" if journal.installed else "expected"
                step = WayStep(state=state, verb="wait", doing=f"tried again by {by}")  # type: ignore[arg-type]
            else:
                return "nobody knows how to do that"
        except BusyError:
            raise
        except GroundupError as error:
            self.say(f"{machine}: {record.get('verb')} of {by} is refused: {error.what}")
            return error.what
        journal.note(step)
        self.say(f"{machine}: {step.doing}")
        return ""
