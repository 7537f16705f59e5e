"""Configure one machine that called home: run the layers' playbooks by ansible-runner, limited to it."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from ...module_utils._base import files
from ...module_utils._base.locks import locked
from ...module_utils._base.run import COLOUR, run
from ..errors import GroundupError
from ..plan.types import Plan
from .journal import Journal, file_of
from .way import MachineCard, WayStep

PAUSES = (5.0, 30.0)  # seconds before another try: a host that has just booted is busy
# Wrapper of ansible-playbook: the playbook itself holds the lock, also when its parent was killed.
_LOCKED = """\
#!/bin/sh
exec flock --exclusive --no-fork "$GROUNDUP_RUN_LOCK" "$GROUNDUP_RUN_PROGRAM" "$@"
"""
COLLECTION = "groundup.cloud"
_AGAIN = "layer {} again"


def refuse_two(plan: Plan, layers: Sequence[str]) -> None:
    """Raise GroundupError if both controller and seed would configure machines."""
    if layers and plan.metal and plan.metal.runner:
        raise GroundupError(
            "two would configure each machine",
            where="the variable machine_layers",
            why=f"the site file has the seed run {', '.join(plan.metal.runner.layers)} (seed.runner)",
            remedy="leave the variable out, or seed.runner",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Runner:
    """Runs layers on the machines of one site."""

    site_file: Path
    home: Path  # of journals, output and locks: `metal` of the site's state directory
    layers: Sequence[str]
    say: Callable[[str], None]
    sleep: Callable[[float], None] = field(default=time.sleep)
    pauses: Sequence[float] = PAUSES
    slots: AbstractContextManager[object] | None = None  # limits parallel runs
    variables: Mapping[str, Any] = field(default_factory=dict)  # extra variables of every run

    def configure(self, host: str) -> None:
        """Run the layers on ``host``, each with retries. Raises GroundupError when one fails every time.

        Tries of a killed run, from the journal, count.
        """
        with locked(self.home / f".{host}.lock"):  # never two runs on one host
            journal = Journal(file_of(self.home, host))  # read under the lock, with the last run's lines
            for layer in self.layers:
                for pause in (*self.pauses[_tried(journal, layer) :], None):
                    if self.slots:
                        self._note(journal, host, _step("it waits for its turn"))
                    with self.slots or nullcontext():
                        self._note(journal, host, _step(f"layer {layer}"))
                        said = self._run(layer, host)
                    if not said:
                        break
                    if pause is None:
                        raise self._failed(journal, host, layer, said)
                    self._note(journal, host, _step(f"{_AGAIN.format(layer)} in {pause:g} s: {said}"))
                    self.sleep(pause)
            self._note(journal, host, WayStep(state="serving", verb="done", doing=f"verified up to {self.layers[-1]}"))

    def _note(self, journal: Journal, host: str, step: WayStep) -> None:
        if journal.note(step):
            self.say(f"{host}: {step.state}, {step.doing}")

    def _run(self, layer: str, host: str) -> str:
        """Run ``layer`` on ``host``; return the error, "" on success."""
        import ansible_runner  # late: it takes half a second, which other sites need not pay

        directory = self.home / "runs" / host
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        shutil.rmtree(directory / "env", ignore_errors=True)  # else an earlier run's options would apply
        lock = {
            "GROUNDUP_WITHIN_RUN": "1",  # of the installation; on the seed, too
            "GROUNDUP_RUN_LOCK": str(self.home / f".{host}.run.lock"),
            "GROUNDUP_RUN_PROGRAM": shutil.which("ansible-playbook") or "ansible-playbook",
            "PATH": f"{self._programs()}:{os.environ.get('PATH', os.defpath)}",
        }
        ended = ansible_runner.run(
            private_data_dir=str(directory),
            project_dir=os.getcwd(),  # noqa: PTH109  # the runner takes text
            inventory=str(self.site_file),
            playbook=f"{COLLECTION}.{layer}",
            limit=host,
            # By default ansible-runner turns host key checking off, and that overrides the inventory.
            envvars={"ANSIBLE_HOST_KEY_CHECKING": "True", "ANSIBLE_FORCE_COLOR": "0", **lock},
            extravars=dict(self.variables),
            quiet=True,  # output is stored below `runs`
            ident=f"{layer}-{time.time_ns()}",
            rotate_artifacts=10,
        )
        return fault(ended)

    def _programs(self) -> Path:
        """Return a directory with the wrapper ``ansible-playbook``, which holds the host's lock."""
        program = self.home / "programs/ansible-playbook"
        if files.read(program) != _LOCKED:
            program.parent.mkdir(mode=0o755, exist_ok=True)
            with TemporaryDirectory(dir=program.parent) as directory:
                new = Path(directory, program.name)
                # By a process of its own: what another thread starts while we write keeps the file open for a moment,
                # and the kernel starts no program that is open for writing (ETXTBSY).
                run(["install", "--mode=0755", "/dev/stdin", str(new)], stdin=_LOCKED)
                new.replace(program)
        return program.parent

    def _failed(self, journal: Journal, host: str, layer: str, said: str) -> GroundupError:
        card = MachineCard(
            what=f"layer {layer} failed {len(self.pauses) + 1} times: {said}",
            why="the machine is installed, and does not serve",
            remedy=f"see the newest stdout below {self.home / 'runs' / host / 'artifacts'}, then run this again",
        )
        journal.note(WayStep(state="failed", verb="fail", card=card))
        return card.at(host)


def _step(doing: str) -> WayStep:
    return WayStep(state="configuring", verb="wait", doing=doing)


def _tried(journal: Journal, layer: str) -> int:
    """Return how often ``layer`` failed since the machine's configuration began."""
    lines = takewhile(lambda line: line.get("state") == "configuring", reversed(journal.lines()))
    return sum(str(line.get("doing")).startswith(_AGAIN.format(layer)) for line in lines)


def fault(ended: Any) -> str:
    """Return why a run of ansible-runner failed, "" when it did not."""
    if ended.rc == 0:
        return ""
    events = [*ended.events]
    how = f"ansible-playbook ended with {ended.rc}{last_words(events)}" if ended.rc else "the run was killed"
    return next(filter(None, map(_failure, events)), how)


def last_words(events: Iterable[Mapping[str, Any]]) -> str:
    """Return a run's last line outside tasks: the reason when it did not start any."""
    said = [str(event.get("stdout") or "") for event in events if event["event"] in ("verbose", "error")]
    lines = [line for text in said for line in COLOUR.sub("", text).splitlines() if line.strip()]
    return f": {lines[-1].strip()}" if lines else ""


def _failure(event: Mapping[str, Any]) -> str:
    """Return the message of a failed task, "" for other events."""
    data = event.get("event_data", {})
    for aside in data.get("res", {}).get("aside") or ():  # the run went on without the host
        return str(aside["reason"])
    if event["event"] not in ("runner_on_failed", "runner_on_unreachable") or data.get("ignore_errors"):
        return ""
    return " ".join(str(data.get("res", {}).get("msg") or data.get("task")).split())
