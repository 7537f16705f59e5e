"""Configure one machine that called home: the layers' playbooks by ansible-runner, for exactly that host."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ...module_utils._base.locks import locked
from ..errors import GroundupError
from .journal import Journal, file_of
from .way import Card, Step

PAUSES = (5.0, 30.0)  # seconds before another try: a host that has just booted is busy
COLLECTION = "groundup.cloud"


@dataclass(frozen=True, slots=True, kw_only=True)
class Runner:
    """Runs of one site."""

    site_file: Path
    home: Path  # of journals, output and locks: `metal` of the site's state directory
    layers: Sequence[str]
    say: Callable[[str], None]
    sleep: Callable[[float], None] = field(default=time.sleep)

    def configure(self, host: str) -> None:
        """Run the layers on ``host`` until each ends well. Raises GroundupError when one does not in three tries."""
        journal = Journal(file_of(self.home, host))
        with locked(self.home / f".{host}.lock"):  # never two runs on one host
            for layer in self.layers:
                self._note(journal, host, Step(state="configuring", verb="wait", doing=f"layer {layer}"))
                for pause in (*PAUSES, None):
                    if not (said := self._run(layer, host)):
                        break
                    if pause is None:
                        raise self._failed(journal, host, layer, said)
                    self.sleep(pause)
            self._note(journal, host, Step(state="serving", verb="done", doing=f"verified up to {self.layers[-1]}"))

    def _note(self, journal: Journal, host: str, step: Step) -> None:
        if journal.note(step):
            self.say(f"{host}: {step.state}, {step.doing}")

    def _run(self, layer: str, host: str) -> str:
        """Run ``layer`` on ``host``; return why it failed, empty when it did not."""
        import ansible_runner  # late: half a second that a site without dark machines does not pay

        directory = self.home / "runs" / host
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        run = ansible_runner.run(
            private_data_dir=str(directory),
            project_dir=os.getcwd(),  # noqa: PTH109  # the runner takes text
            inventory=str(self.site_file),
            playbook=f"{COLLECTION}.{layer}",
            limit=host,
            # The runner turns the check of host keys off where nothing is said, before what the inventory says.
            envvars={"ANSIBLE_HOST_KEY_CHECKING": "True", "ANSIBLE_FORCE_COLOR": "0"},
            quiet=True,  # its output is kept below `runs`
            ident=f"{layer}-{time.time_ns()}",
            rotate_artifacts=10,
        )
        if run.rc == 0:
            return ""
        ended = "the run was killed" if run.rc is None else f"ansible-playbook ended with {run.rc}"
        return next(filter(None, map(_failure, run.events)), ended)

    def _failed(self, journal: Journal, host: str, layer: str, said: str) -> GroundupError:
        card = Card(
            what=f"layer {layer} failed {len(PAUSES) + 1} times: {said}",
            why="the machine is installed, and does not serve",
            remedy=f"see the newest stdout below {self.home / 'runs' / host / 'artifacts'}, then run this again",
        )
        journal.note(Step(state="failed", verb="fail", card=card))
        return GroundupError(card.what, where=host, why=card.why, remedy=card.remedy)


def _failure(event: Mapping[str, Any]) -> str:
    """Return what a task's failure says, empty for other events."""
    data = event.get("event_data", {})
    if event["event"] not in ("runner_on_failed", "runner_on_unreachable") or data.get("ignore_errors"):
        return ""
    return " ".join(str(data.get("res", {}).get("msg") or data.get("task")).split())
