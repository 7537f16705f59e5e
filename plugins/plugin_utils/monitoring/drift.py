"""Alerts of drift, and of what ran unattended for it."""

from __future__ import annotations

from collections.abc import Callable

from ..plan.types import Plan
from .record import AlertRecord, last


def with_drift(expr: str) -> Callable[[Plan], str]:
    """Return an expression of a site that looks for drift."""
    # Without a timer, nobody looks again.
    return lambda plan: expr if plan.monitoring and plan.monitoring.drift else ""


def with_heal(expr: str) -> Callable[[Plan], str]:
    """Return an expression of a site that mends by itself."""
    return lambda plan: expr if plan.monitoring and plan.monitoring.heal else ""


DRIFT_ALERTS: dict[str, AlertRecord] = {
    "SiteDrifted": AlertRecord(
        layer="monitoring", job="node", severity="warning", after="5m", object="drift",
        expr=with_drift("max by (part) (groundup_drift_objects) > 0"),
        what="{part} differs from the site file",
        why="what was changed by hand is undone by the next run, or lost with its host",
        remedy="run groundup.cloud.drift, which names each difference; put it into the site file, or run its layer",
    ),
    "DriftUnknown": AlertRecord(
        layer="monitoring", job="node", severity="warning", after="5m", object="drift",
        expr=with_drift("max by (part) (groundup_drift_unknown) > 0"),
        what="something of {part} could not be compared with the site file",
        why="what was not asked may differ",
        remedy="run groundup.cloud.drift, which names what could not be asked, and why",
    ),
    "DriftOld": AlertRecord(
        layer="monitoring", job="node", severity="warning", after="5m", object="drift",
        expr=lambda plan: with_drift(
            f"time() - {last('groundup_drift_looked_timestamp_seconds', plan)} > 2 * 86400"
        )(plan),
        what="the site was not compared with its file for two days",
        why="what changed since then is unseen",
        remedy="read why: journalctl of the unit groundup-drift-SITE on the control node",
    ),
    "HealFailed": AlertRecord(
        layer="monitoring", job="node", severity="warning", after="5m", object="drift",
        expr=with_heal("max by (part) (groundup_heal_failed) > 0"),
        what="the unattended run of {part} failed, or left differences",
        why="what it began may be half done; it does not run again in the same window for the same",
        remedy="read why: journalctl of the unit groundup-drift-SITE on the control node; then run the layer yourself",
    ),
    "HealRepeated": AlertRecord(
        layer="monitoring", job="node", severity="warning", after="5m", object="drift",
        expr=with_heal(
            "max by (part) (groundup_heal_repeated) > 0 and on (part) "
            "time() - max by (part) (groundup_heal_last_timestamp_seconds) < 2 * 86400"
        ),
        what="what an unattended run of {part} has mended differs again",
        why="something changes it back, and a run every night hides that",
        remedy="run groundup.cloud.drift, which names who wrote last to an object; stop that, or write it into the "
        "site file",
    ),
}  # fmt: skip
