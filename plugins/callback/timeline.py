"""What a run changed by play, how long it took, and the same figures as JSON."""

from __future__ import annotations

DOCUMENTATION = r"""
name: timeline
type: aggregate
short_description: What a run changed, and wall time, CPU of the control node and tasks per host of every play
version_added: 0.1.0
description:
  - Prints one line when the run ends, with its time and what changed by layer; with C(-v) a table of all plays before
    it.
  - A dry run ends with what it could not know, and with the command that does what it predicted.
  - A run of a site is recorded in C(runs.jsonl) of its state directory, unless it prints a document or is part of
    another run. A monitoring host that it has reached is told at its end, for the page of the site.
  - Tasks are counted per host as Ansible ran them, skipped ones included, because a skipped task costs the control node
    almost as much as one that ran.
requirements:
  - Enabled in C(callbacks_enabled).
options:
  timeline_file:
    description:
      - JSON file for the same figures, with C(ended) (V(done) or V(stopped)) and C(access), how to reach the cloud when
        the run made sure of it. The guide on automation describes its fields. Without it, no file is written.
    type: path
    env:
      - name: GROUNDUP_TIMELINE
    ini:
      - section: callback_timeline
        key: file
"""

import json
import multiprocessing
import resource
import shlex
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ansible import context
from ansible.plugins.callback import CallbackBase

from ..module_utils._base.text import few
from ..plugin_utils.commands import idle, sites
from ..plugin_utils.layers.layers import ABSENT
from ..plugin_utils.layers.position import layer_of
from ..plugin_utils.monitoring import runs
from ..plugin_utils.progress import clock
from ..plugin_utils.run_mode import dry_run
from .brief import OURS, ROLLOUT, groups_of_run, prints_document

_APPLIES = {"groundup.cloud.precheck": "groundup.cloud.site"}  # playbook that only predicts -> the one that does it


@dataclass(slots=True)
class PlayRecord:
    """Cost of one play."""

    name: str
    started: float
    cpu_at_start: float
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    tasks: Counter[str] = field(default_factory=Counter)
    changed: Counter[str] = field(default_factory=Counter)
    predicts: bool = False  # it would change these
    layer: str = ""


def controller_cpu_seconds() -> float:
    """Return the CPU seconds of this process and of all its ended children."""
    own, children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


def is_dry_run(play: Any) -> bool:
    """Whether the run only predicts: check mode, ``--tags check``, or a playbook that always does."""
    given = {"ansible_check_mode": context.CLIARGS.get("check"), "ansible_run_tags": context.CLIARGS.get("tags")}
    return dry_run({**play.vars, **given})


def next_command() -> str:
    """Return the command that does what this dry run predicted. Values of extra variables may be secret: not shown."""
    playbooks = [_APPLIES.get(name, name) for name in context.CLIARGS.get("args") or ()]
    more = ", with the same options" if context.CLIARGS.get("extra_vars") or context.CLIARGS.get("subset") else ""
    return shlex.join(["ansible-playbook", *sites(), *playbooks]) + more


def _by_layer(rows: Iterable[PlayRecord], *, predicts: bool) -> dict[str, int]:
    """Return the number of changes by layer; by play where it is of none."""
    found: Counter[str] = Counter()
    for play in rows:
        if play.changed and play.predicts is predicts:
            found[play.layer or play.name] += play.changed.total()
    return dict(found)


def _listed(found: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {number}" for name, number in found.items())


def _asked(result: Any) -> str:
    """Return the host that a task was done on; of one that it was delegated to, a callback knows the address alone."""
    delegated = result.result.get("_ansible_delegated_vars")
    return str(result.host.get_name() if delegated is None else delegated.get("ansible_host"))


def _figures(play: PlayRecord) -> dict[str, Any]:
    return {
        "name": play.name,
        "layer": play.layer,
        "seconds": play.seconds,
        "cpu_seconds": play.cpu_seconds,
        "tasks": dict(play.tasks),
        "changed": dict(play.changed),
    }


class CallbackModule(CallbackBase):  # type: ignore[misc]  # Ansible ships no types
    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "groundup.cloud.timeline"
    CALLBACK_NEEDS_ENABLED = True

    def __init__(self) -> None:
        super().__init__()
        self._plays: list[PlayRecord] = []
        self._run_started = time.monotonic()
        self._access: dict[str, str] = {}
        self._aside: set[str] = set()
        self._document = False
        self._prediction = False
        self._absent: list[str] = []
        self._untold: dict[str, None] = {}  # tasks of a dry run that could not say what they would do
        self._began, self._row = time.time(), runs.Row()  # of the history; empty before it has this run
        self._failed: dict[str, str] = {}  # by host, the layer or play
        self._reached: set[str] = set()

    def v2_playbook_on_play_start(self, play: Any) -> None:
        """Close the previous play and open this one."""
        self._close()
        self._document = prints_document(play) and not self._display.verbosity
        name, layer = play.get_name().strip(), layer_of(play)
        self._plays.append(PlayRecord(name, time.monotonic(), controller_cpu_seconds(), layer=layer))
        self._prediction |= is_dry_run(play)
        self._absent = sorted(groups_of_run(play).get(ABSENT, ()))
        self._play = play

    def v2_playbook_on_task_start(self, task: Any, is_conditional: bool) -> None:  # noqa: ARG002  # Ansible's signature
        """Record with the first task that the run has begun."""
        if not self._row and not self._document and runs.is_whole():
            self._row = runs.begun(context.CLIARGS, check=self._prediction, began=self._began)
            self._keep()

    def v2_runner_on_ok(self, result: Any) -> None:
        """Count a task that ran, and whether it changed something."""
        host = self._count(result)
        if "warnings" not in result.result:  # such as that the monitoring host does not answer
            self._reached.add(_asked(result))
        if result.task.resolved_action == ROLLOUT:
            self._access = result.result.get("access") or self._access
        self._aside |= {row["host"] for row in result.result.get("aside") or ()}
        if result.result.get("changed"):
            self._plays[-1].changed[host] += 1
            self._plays[-1].predicts |= bool(result.task.check_mode)

    def v2_runner_on_failed(self, result: Any, ignore_errors: bool = False) -> None:  # noqa: ARG002  # Ansible's signature
        """Count a task that failed."""
        self._failed[self._count(result)] = self._plays[-1].layer or self._plays[-1].name
        self._reached.add(_asked(result))

    def v2_runner_on_unreachable(self, result: Any) -> None:
        """Count a task whose host did not answer."""
        self._failed[self._count(result)] = self._plays[-1].layer or self._plays[-1].name
        self._reached.discard(_asked(result))

    def v2_runner_on_skipped(self, result: Any) -> None:
        """Count a task that was skipped, and record one of ours that could not predict."""
        self._count(result)
        if result.task.check_mode and "msg" in result.result and str(result.task.resolved_action).startswith(OURS):
            self._untold[result.task.get_name()] = None

    def v2_playbook_on_stats(self, stats: Any) -> None:
        """Print what changed and the time, with ``-v`` the table; write the figures to the file if one is named."""
        self._close()
        rows = [play for play in self._plays if play.tasks]
        if not rows:
            if not self._document:
                self._display.display(idle())
            return
        lost = {*stats.failures, *stats.dark} - self._aside | {*stats.failures}
        total, stopped = time.monotonic() - self._run_started, bool(lost)
        if self._display.verbosity:
            self._table(rows, total)
        changed, would = (_by_layer(rows, predicts=predicts) for predicts in (False, True))
        if not self._document:
            said = [
                f"{words}: {_listed(found)}"
                for words, found in (("changed", changed), ("would change", would))
                if found
            ]
            self._display.display(f"\ntook {clock(total)} min; {'; '.join(said) or 'nothing changed'}")
            if self._prediction:
                self._display.display("\n".join(self._outlook(changed, stopped=stopped)))
        failed = few(f"{self._failed.get(one, '?')} on {one}" for one in sorted(lost))
        end = {"failed": failed, "without": few(sorted(self._aside)), "changed": changed, "would_change": would}
        self._keep(ended=time.time(), stopped=stopped, **end)
        if target := self.get_option("timeline_file"):
            Path(target).write_text(
                json.dumps(
                    {
                        "seconds": total,
                        "cpu_seconds": controller_cpu_seconds(),
                        "ended": "stopped" if stopped else "done",
                        "prediction": self._prediction,
                        "changed": changed,
                        "would_change": would,
                        "not_known": {"hosts": self._absent, "tasks": [*self._untold]} if self._prediction else {},
                        "access": self._access,
                        "plays": [_figures(play) for play in rows],
                    },
                    indent=1,
                ),
                encoding="utf-8",
            )

    def _keep(self, **end: Any) -> None:
        """Write this run into the history of its site; at its end, tell the monitoring host, too."""
        if self._row:
            self._row |= end
            for fault in runs.keep(self._play, self._row, reached=self._reached):
                self._display.warning(fault)

    def _outlook(self, changed: Mapping[str, int], *, stopped: bool) -> list[str]:
        """Return what a dry run could not know, and what to run next."""
        lines = [f"not known: what {few(self._absent)} need: not made yet, or not reached"] if self._absent else []
        lines += [f"not known: {', '.join(self._untold)}"] if self._untold else []
        return [
            *lines,
            "a prediction" if changed else "a prediction: nothing was changed",
            *([] if stopped else [f"next: {next_command()}"]),
        ]

    def _table(self, rows: list[PlayRecord], total: float) -> None:
        width = max(len(play.name) for play in rows)
        self._display.display(f"\n{'play':<{width}}  {'wall s':>7} {'cpu s':>7} {'tasks/host':>10} {'changed':>7}")
        for play in rows:
            self._display.display(
                f"{play.name:<{width}}  {play.seconds:7.1f} {play.cpu_seconds:7.1f} "
                f"{max(play.tasks.values()):10d} {play.changed.total():7d}"
            )
        self._display.display(f"{'total':<{width}}  {total:7.1f} {controller_cpu_seconds():7.1f}")

    def _count(self, result: Any) -> str:
        host = str(result.host.get_name())
        if self._plays:
            self._plays[-1].tasks[host] += 1
        return host

    def _close(self) -> None:
        if self._plays and not self._plays[-1].seconds:
            play = self._plays[-1]
            # A worker's CPU time counts only once it has been waited for. Ansible does that later, during another play.
            # These workers have sent their results and are ending.
            for worker in multiprocessing.active_children():
                worker.join(timeout=10)
            play.seconds = time.monotonic() - play.started
            play.cpu_seconds = controller_cpu_seconds() - play.cpu_at_start
