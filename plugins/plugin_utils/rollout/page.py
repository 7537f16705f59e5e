"""The page for reviewers of a rollout: what of each release changes, what stands against it, every field. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...module_utils._base.text import few, table
from ..helm.diff import lines
from ..helm.types import ObjectChange, ReleaseDiff
from .gate.decide import table as reasons_table
from .types import GateReason, RolloutResult

_SEEN = ("release", "chart", "images", "ConfigMaps, Secrets", "migration", "pods made anew")
_SETTINGS, _WORKLOADS = ("ConfigMap", "Secret"), ("DaemonSet", "Deployment", "StatefulSet")
_MIGRATES = ("db-sync", "db-contract")  # in the name of a Job or hook, of both sets of charts
_AFTER = """\
What a way back is: name the former chart, image or value, and roll out. A schema that was migrated, a password and a
volume stay as they are then; `helm rollback` moves objects alone."""


def page(site: str, result: RolloutResult, redact: Callable[[str], str]) -> str:
    """Return the page of a predicted rollout."""
    changed = {one.name for one in result.releases if one.changed}
    diffs = [diff for diff in result.diffs if diff.release in changed]
    text = [f"# Rollout of {site}: {len(diffs)} of {len(result.releases)} releases change", ""]
    text += [*table(_SEEN, *map(_row, diffs)), ""] if diffs else []
    text += [*(f"{card.release} does not render: {card.what}" for card in result.cards), *_against(result.reasons)]
    for diff in diffs:
        text += [f"## {diff.release}", "", _counted(diff), "", "```text", *lines(diff), "```", ""]
    return redact("\n".join([*text, _AFTER, ""]))


def _row(diff: ReleaseDiff) -> tuple[str, ...]:
    """Return the answers to a reviewer's questions."""
    images = {
        f"{field.before} → {field.after}"
        for change in diff.changes
        for field in change.fields
        if field.path.endswith("].image") and change.ref.kind in _WORKLOADS
    }
    settings = [f"{one.ref} ({one.kind})" for one in diff.changes if one.ref.kind in _SETTINGS]
    jobs = {*diff.hooks, *(one.ref for one in diff.changes if one.ref.kind == "Job" and one.kind == "create")}
    migrations = sorted(str(ref) for ref in jobs if any(word in ref.name for word in _MIGRATES))
    before, after = diff.chart
    chart = after if before == after else f"{before or 'new'} → {after or 'none'}"
    pods = [str(one.ref) for one in diff.changes if _renews(one)]
    return (
        diff.release, chart, "; ".join(sorted(images)) or "stay", few(settings) if settings else "stay",
        few(migrations) if migrations else "none", few(pods) if pods else "none",
    )  # fmt: skip


def _renews(change: ObjectChange) -> bool:
    """Return whether pods of a workload end or begin, but for a change of their number."""
    if change.ref.kind not in _WORKLOADS or change.kind == "refused":
        return False
    return change.kind != "change" or any(field.path.startswith("spec.template") for field in change.fields)


def _against(reasons: Sequence[GateReason]) -> list[str]:
    if not reasons:
        return ["Nothing stands against it.", ""]
    return ["Against it:", "", "```text", reasons_table(reasons), "```", ""]


def _counted(diff: ReleaseDiff) -> str:
    said = (f"{kind} {'/'.join(f'{n} {what}' for what, n in one.items())}" for kind, one in diff.counts.items())
    return ", ".join(said) or "no object differs, its record does"
