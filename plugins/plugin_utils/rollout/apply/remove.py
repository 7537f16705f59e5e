"""Remove releases that are no longer in the site file and that the operator named."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from ...errors import GroundupError
from ...helm.client import Helm
from ...helm.heal import uninstall
from ...helm.types import LiveRelease
from ...process import InterruptedRunError, Processes
from ...progress import reminder
from ..diagnose import cards
from ..gate.retired import in_order
from ..reporting import Reporter
from ..types import ReleaseReport, RolloutResult, State, Symptom


def remove(
    retired: Mapping[str, LiveRelease],
    result: RolloutResult,
    *,
    wanted: Iterable[str],
    helm: Helm,
    processes: Processes,
    leave_catalog: Callable[[str], None],
    reporter: Reporter,
    say: Callable[[str], None],
) -> RolloutResult:
    """Remove the ``retired`` releases that are ``wanted``, dependants first; nothing after a failure.

    Returns ``result`` with a report for each retired release. Raises InterruptedRunError when the run is told to stop.
    """
    reports, made = [], list(result.cards)
    failed = result.failed
    for name in in_order(retired):
        state: State = "kept"
        if name in wanted and failed:
            state = "not started"
        elif name in wanted:
            live = retired[name]
            try:
                processes.raise_if_stopped()
                with reminder(say, f"{name}: removing"):
                    leave_catalog(name)  # first: clients must not find a service that goes away
                    uninstall(helm, live)
                state = "removed"
                say(f"{name}: removed")
            except InterruptedRunError:
                raise
            except GroundupError as error:
                state, failed = "failed", True
                symptom = Symptom(
                    release=name, namespace=live.namespace, object=f"release {name}", stage="apply", message=str(error)
                )
                made.append(reporter.card(symptom))
                say(cards.text(made[-1]))
        reports.append(ReleaseReport(name=name, state=state, changed=state == "removed", seconds=0.0))
    return replace(result, releases=(*result.releases, *reports), cards=tuple(made))
