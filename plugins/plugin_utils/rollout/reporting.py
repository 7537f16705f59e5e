"""Reports, failure cards and predictions of a rollout, without secrets."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace

from ..graph import Graph
from ..health.verification import Check, Verification
from ..helm.diff import removal
from ..helm.preview import ChangePreview
from ..plan.types import ReleasePlan
from ..vault import Redactor
from .apply.deploy import DeployResult
from .diagnose import cards
from .types import Card, GateReason, ReleaseReport, RolloutResult, State, Symptom


@dataclass(frozen=True, slots=True, kw_only=True)
class Reporter:
    """Makes reports and cards of one rollout."""

    releases: Mapping[str, ReleasePlan]
    graph: Graph  # only for dependencies
    redactor: Redactor
    site_file: str
    remove: Collection[str]

    def card(self, symptom: Symptom, *, affected: Iterable[str] = ()) -> Card:
        return cards.make(symptom, self.redactor, affected=affected, site_file=self.site_file)

    def unwell(self, name: str, own: Verification, below: Iterable[Verification]) -> Symptom:
        """Return the symptom of a service that runs but does not work. Checks of releases it needs come first."""
        checks = [check for verification in [*below, own] for check in verification.checks if not check.ok]
        namespace = self.releases[name].namespace
        return Symptom(
            release=name, namespace=namespace, object=f"release {name}", stage="verify", checks=tuple(checks)
        )

    def checks(self, checks: tuple[Check, ...]) -> tuple[Check, ...]:
        """Return ``checks`` without secrets."""
        return tuple(replace(check, detail=self.redactor.text(check.detail)) for check in checks)

    def report(self, name: str, outcome: DeployResult, seconds: float) -> ReleaseReport:
        state: State = "failed" if outcome.symptom else "ready" if outcome.changed else "unchanged"
        return ReleaseReport(
            name=name, state=state, changed=outcome.changed, seconds=round(seconds, 1), healed=outcome.healed,
            checks=self.checks(outcome.verification.checks),
        )  # fmt: skip

    def result(
        self,
        found: ChangePreview,
        reasons: tuple[GateReason, ...],
        reports: Mapping[str, ReleaseReport],
        made: Iterable[Card],
    ) -> RolloutResult:
        """Return the result of a rollout: releases of the plan in its order, then those no longer in it."""
        removed = [removal(found.retired[name]) for name in found.retired if name in self.remove]
        return RolloutResult(
            releases=tuple(reports[name] for name in (*self.releases, *found.retired) if name in reports),
            diffs=(*found.diffs.values(), *removed),
            reasons=reasons,
            cards=tuple(made),
        )

    def predicted(self, found: ChangePreview, reasons: tuple[GateReason, ...]) -> RolloutResult:
        """Return the predicted result: a chart that does not render stops the change as a whole."""
        made = [
            self.card(
                Symptom(
                    release=name, namespace=self.releases[name].namespace, stage="render", message=error.what,
                    object=f"chart {self.releases[name].chart}",
                ),
                affected=sorted(self.graph.dependants(name)),
            )
            for name, error in found.broken.items()
        ]  # fmt: skip
        names = (*self.releases, *found.retired)
        return self.result(found, reasons, {name: self._predicted(name, found) for name in names}, made)

    def _predicted(self, name: str, found: ChangePreview) -> ReleaseReport:
        changed = False
        state: State = "kept"
        if name in found.broken:
            state = "failed"
        elif found.broken:
            state = "not started"
        elif name in self.releases or name in self.remove:
            changed = name in found.retired or not found.unchanged(name)
            state = "waiting" if changed else "unchanged"
        return ReleaseReport(name=name, state=state, changed=changed, seconds=0.0)
