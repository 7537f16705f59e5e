"""What a run changed by play, how long it took, and the same figures as JSON."""

from __future__ import annotations

DOCUMENTATION = r"""
name: timeline
type: aggregate
short_description: What a run changed, and wall time, CPU of the control node and tasks per host of every play
version_added: 0.1.0
description:
  - Prints one line when the run ends, with its time and the plays that changed something; with C(-v) a table of all
    plays before it.
  - Tasks are counted per host as Ansible ran them, skipped ones included, because a skipped task costs the controller
    almost as much as one that ran.
requirements:
  - Enabled in C(callbacks_enabled).
options:
  timeline_file:
    description:
      - JSON file for the same figures, with C(ended) (V(done) or V(stopped)) and C(access), how to reach the cloud when
        the run made sure of it. Without it, no file is written.
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
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ansible.plugins.callback import CallbackBase

from ..plugin_utils.progress import clock
from .brief import ROLLOUT, prints_document


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


def controller_cpu_seconds() -> float:
    """Return the CPU seconds of this process and of all its ended children."""
    own, children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


def _figures(play: PlayRecord) -> dict[str, Any]:
    return {
        "name": play.name,
        "seconds": play.seconds,
        "cpu_seconds": play.cpu_seconds,
        "tasks": dict(play.tasks),
        "changed": dict(play.changed),
    }


class CallbackModule(CallbackBase):  # type: ignore[misc]  # Ansible ships no types
    """See DOCUMENTATION."""

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

    def v2_playbook_on_play_start(self, play: Any) -> None:
        """Close the previous play and open this one."""
        self._close()
        self._document = prints_document(play) and not self._display.verbosity
        self._plays.append(PlayRecord(play.get_name().strip(), time.monotonic(), controller_cpu_seconds()))

    def v2_runner_on_ok(self, result: Any) -> None:
        """Count a task that ran, and whether it changed something."""
        host = self._count(result)
        if result.task.resolved_action == ROLLOUT:
            self._access = result.result.get("access") or self._access
        self._aside |= {row["host"] for row in result.result.get("aside") or ()}
        if result.result.get("changed"):
            self._plays[-1].changed[host] += 1
            self._plays[-1].predicts |= bool(result.task.check_mode)

    def v2_runner_on_failed(self, result: Any, ignore_errors: bool = False) -> None:  # noqa: ARG002  # Ansible's signature
        """Count a task that failed."""
        self._count(result)

    def v2_runner_on_skipped(self, result: Any) -> None:
        """Count a task that was skipped."""
        self._count(result)

    def v2_playbook_on_stats(self, stats: Any) -> None:
        """Print what changed and the time, with ``-v`` the table; write the figures to the file if one is named."""
        self._close()
        rows = [play for play in self._plays if play.tasks]
        if not rows:
            return
        total, stopped = time.monotonic() - self._run_started, bool(stats.failures or set(stats.dark) - self._aside)
        if self._display.verbosity:
            self._table(rows, total)
        changes = [
            f"{words}: {', '.join(plays)}"
            for words, predicts in (("changed", False), ("would change", True))
            if (
                plays := [
                    f"{one.name} {one.changed.total()}" for one in rows if one.changed and one.predicts is predicts
                ]
            )
        ]
        if not self._document:
            self._display.display(f"\ntook {clock(total)} min; {'; '.join(changes) or 'nothing changed'}")
        if target := self.get_option("timeline_file"):
            Path(target).write_text(
                json.dumps(
                    {
                        "seconds": total,
                        "cpu_seconds": controller_cpu_seconds(),
                        "ended": "stopped" if stopped else "done",
                        "access": self._access,
                        "plays": [_figures(play) for play in rows],
                    },
                    indent=1,
                ),
                encoding="utf-8",
            )

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
