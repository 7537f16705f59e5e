"""Follow the seed's runner from the controller: wait for machines, and copy their progress into journals."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from ...module_utils._base.faults import Fault
from ..errors import GroundupError
from ..paths import state_dir
from ..plan.types import Plan
from ..vault import open_store
from ..vault.names import IRONIC
from .api import BusyError, Ironic
from .batch import left_behind
from .journal import Journal, file_of, home_of
from .provision import given_up
from .way import MachineCard

PUBLIC_KEY = Path("ssh/runner.pub")  # the runner's, below the site's state directory
_SILENT = MachineCard(
    what="the seed's runner does nothing",
    why="it configures machines that called home",
    remedy="on the seed: systemctl status groundup-runner; journalctl -u groundup-runner",
)


def login_of(plan: Plan) -> tuple[str, ...]:
    """Return the authorized_keys line of the seed's runner, restricted to the seed's address; () without a runner.

    Raises OSError when the seed has not made its key yet.
    """
    runner = plan.metal.runner if plan.metal else None
    if runner is None:
        return ()
    key = (state_dir(plan.site) / PUBLIC_KEY).read_text(encoding="utf-8").strip()
    return (f'from="{runner.source}" {key}',)


def adopt(journal: Journal, call: Mapping[str, Any]) -> Mapping[str, Any]:
    """Copy the runner's new lines since the machine's call into its journal; return the last, {} without any."""
    way = call.get("way") or []
    if not way or journal.leaving:
        return {}
    with journal.held():  # a run and a followed overview may copy the same lines
        last = max((float(line["time"]) for line in journal.lines() if line.get("by")), default=0.0)
        for line in way:
            if float(line["time"]) > last:
                journal.add({**line, "by": "the seed"})
    return dict(way[-1])


def refresher(plan: Plan) -> Callable[[], str]:
    """Return a function that copies the runner's lines into all journals, and returns its error, "" without one."""
    if plan.metal is None or plan.metal.runner is None:
        return str
    try:
        password, ca = open_store(plan.site, write=False).get(IRONIC), state_dir(plan.site) / "ca.crt"
    except GroundupError as error:
        said = error.what  # the seed is still to be made
        return lambda: said
    ironic = Ironic(api=plan.metal.api_url, media=plan.metal.media_url, password=password, ca=ca)

    def refresh() -> str:
        try:
            calls = ironic.calls()
        except (GroundupError, OSError) as error:
            return error.what if isinstance(error, GroundupError) else str(error)
        for name in plan.hosts.keys() & calls.keys():
            adopt(Journal(file_of(home_of(plan.site), name)), calls[name])
        return ""

    return refresh


def follow(
    ironic: Ironic, plan: Plan, name: str, say: Callable[[str], None], *, timeout: float, pause: float,
    left: threading.Event,
) -> None:  # fmt: skip
    """Wait until the seed's runner has configured a machine; retry one that had failed. Raises GroundupError.

    ``timeout``: seconds without progress. Return at once for a machine that the runner is not to configure.
    """
    journal = Journal(file_of(home_of(plan.site), name))
    known, asked, deadline = dict[str, Any](), "", time.monotonic() + timeout
    while True:
        with suppress(BusyError):  # the seed restarts
            call = ironic.call_of(name) or {}
            if not call.get("layers"):
                return
            last = dict(adopt(journal, call))
            if last != known:
                say(f"{name}: {last['state']}, {last['doing'] or last['card']['what']}")
                known, deadline = last, time.monotonic() + timeout
            match last.get("state"):
                case "serving":
                    return
                case "failed" if not asked:
                    ironic.again(name)
                case "failed" if asked != str(last["time"]):
                    card = last["card"]
                    raise Fault(what=card["what"], why=card["why"], remedy=card["remedy"]).at(name)
            asked = asked or str(last.get("time"))
        if left.is_set():
            raise left_behind(name, f"{known.get('state', 'installed')}, {known.get('doing', '')}")
        if time.monotonic() > deadline:
            raise given_up(name, _SILENT, journal)
        left.wait(pause)
