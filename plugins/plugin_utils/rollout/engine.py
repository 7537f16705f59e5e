"""The rollout: check, apply and verify a graph of releases.

    rollout = Rollout(plan=plan, api=api, helm=helm, processes=processes, secrets=store, authority=ca, say=print)
    result = rollout.apply()

Its edges (the API, helm, the secrets store, the printing of lines) are passed in. A release starts as soon as all
releases it needs verify; a failed one stops only those that need it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

from ..graph import Graph, one_by_one, run
from ..health.verification import Verification
from ..helm.client import Helm
from ..helm.preview import ChangePreview, preview
from ..kube.client import Api
from ..kube.retention import retain
from ..plan.types import Plan, ReleasePlan
from ..process import Processes, stop_on_signals
from ..progress import reminder
from ..services import keystone
from ..vault import Redactor
from .apply import lease, namespaces
from .apply.deploy import DeployResult, Tools, deploy
from .apply.limits import RolloutLimits, claims
from .apply.progress import ReleaseProgress
from .apply.remove import remove
from .apply.watch import ClusterView
from .diagnose import cards
from .gate.decide import decide
from .gate.extra import reach, reasons_against_extra
from .gate.reasons import holders_of_node_ports, reasons_against
from .gate.retired import announced, reasons_against_removal
from .gate.series import other_series
from .reporting import Reporter
from .types import Card, GateReason, ReleaseReport, RolloutError, RolloutOptions, RolloutResult, State, Symptom
from .verify.ask import Verifiers


class Secrets(Protocol):
    """The part of the secrets store that the rollout uses."""

    def resolve(self, values: Any) -> Any:
        """Return ``values`` with every reference to a secret replaced by the secret."""
        ...

    def items(self) -> Mapping[str, str]:
        """Return all secrets by name, to redact them in output."""
        ...


class Rollout:
    """All releases of a plan on one cluster.

    ``api``: None when there is no cluster yet (only `check` works then). ``authority``: certificate of the site's CA.
    ``say``: prints one line; called from several threads but never from two at once.
    """

    def __init__(
        self,
        *,
        plan: Plan,
        api: Api | None,
        helm: Helm,
        processes: Processes,
        secrets: Secrets,
        authority: Path,
        say: Callable[[str], None],
        options: RolloutOptions | None = None,
    ) -> None:
        self._plan, self._api, self._helm, self._processes = plan, api, helm, processes
        self._secrets = secrets
        self._verifiers = Verifiers(plan=plan, cluster=self._cluster, resolve=self._resolve, authority=authority)
        self._redactor = Redactor(secrets.items())
        self._print = say
        self._options = options or RolloutOptions()
        self._limits = RolloutLimits(self._options.limits)
        self._releases = {release.name: release for release in plan.openstack.releases}
        self._reporter = Reporter(
            releases=self._releases, graph=self._graph(), redactor=self._redactor, site_file=self._options.site_file,
            remove=self._options.remove,
        )  # fmt: skip

    def check(self) -> RolloutResult:
        """Return what `apply` would do, with the gate's reasons; change nothing."""
        with stop_on_signals(self._processes):
            found, reasons = self._preview()
        return self._predicted(found, reasons)

    def apply(self, *, before: Callable[[], object] = lambda: None) -> RolloutResult:
        """Deploy every release as planned; return the result of each.

        ``before`` is called when the gate is passed, just before the first change.

        Raises GateRefusedError before anything is changed, RolloutError when the cluster cannot be reached or another
        run holds the lease, LeaseLostError when another run took it, InterruptedRunError when the run is told to stop.
        """
        api = self._cluster()
        with (
            stop_on_signals(self._processes),
            lease.held(
                api, namespace=self._plan.openstack.namespace, seconds=self._options.lease, say=self._say,
                lost=self._processes.stop,
            ),
        ):  # fmt: skip
            found, reasons = self._preview()
            if found.broken:
                return self._predicted(found, reasons)
            for reason in decide(reasons, force=self._options.force):
                self._say(f"accepted: {reason.code} {reason.release}: {reason.what}")
            before()
            try:
                with ClusterView(api).running() as view:
                    tools = Tools(
                        api=api, helm=self._helm, view=view, progress=ReleaseProgress(self._releases, self._say),
                        processes=self._processes, options=self._options, resolve=self._resolve,
                        ask=self._verifiers.ask,
                    )  # fmt: skip
                    result = self._roll(found, reasons, tools)
                    if (
                        self._plan.kubernetes.storage_backend != "local"
                    ):  # directories of nodes stay anyway, for a while
                        for space in (self._plan.openstack.namespace, *namespaces.named(api)):
                            for name in retain(api, space):
                                self._say(f"volume {name}: its data stay when its claim is deleted")
                    result = remove(
                        found.retired, result, wanted=self._options.remove, helm=self._helm, processes=self._processes,
                        leave_catalog=self._verifiers.leave_catalog, reporter=self._reporter, say=self._say,
                    )  # fmt: skip
                    if result.failed or self._options.only:
                        return result
                    return self._with_site(result, patience=self._options.verify_timeout)
            finally:
                self._processes.stop()

    def verify(self) -> RolloutResult:
        """Ask every service whether it works; change nothing."""
        self._cluster()
        graph, reports, failed = self._graph(), [], []
        with ThreadPoolExecutor(max_workers=8, thread_name_prefix="verify") as pool:
            futures = {name: pool.submit(self._verifiers.timed, release) for name, release in self._releases.items()}
            answers = {name: future.result() for name, future in futures.items()}
        for name, (verification, seconds) in answers.items():
            state: State = "ready" if verification.ok else "failed"
            checks = self._reporter.checks(verification.checks)
            reports.append(ReleaseReport(name=name, state=state, changed=False, seconds=seconds, checks=checks))
            if not verification.ok:
                below = [answers[need][0] for need in reversed(graph.needs(name))]
                failed.append(self._reporter.card(self._reporter.unwell(name, verification, below)))
        result = RolloutResult(releases=tuple(reports), diffs=(), reasons=(), cards=tuple(failed))
        works = [name for name, (verification, _) in answers.items() if verification.ok]
        return self._with_site(result) if keystone.SERVICE.name in works else result

    def _with_site(self, result: RolloutResult, *, patience: float = 0.0) -> RolloutResult:
        """Return ``result`` with the checks of the site as a whole and its final catalog."""
        with reminder(self._say, "waiting until catalog, routes and Services agree"):
            found = self._verifiers.ask_site(
                patience=patience, go_on=self._processes.raise_if_stopped, say=self._say
            )  # fmt: skip
        if found is None:
            return result
        site = Symptom(
            release=f"site {self._plan.site}", namespace=self._plan.openstack.namespace, object="the catalog",
            stage="verify", checks=found.checks,
        )  # fmt: skip
        made = () if found.ok else (self._reporter.card(site),)
        if patience and made:
            self._say(cards.text(made[0]))
        return replace(
            result,
            cards=(*result.cards, *made),
            site=self._reporter.checks(found.checks),
            facts={**result.facts, **found.facts},
        )

    def _say(self, text: str) -> None:
        self._print(self._redactor.text(text))

    def _graph(self, *, chain: bool = False, only: Sequence[str] = ()) -> Graph:
        """Return the graph of all releases; with ``only``, of those and of what they need."""
        needs = [(release.name, release.needs) for release in self._plan.openstack.releases]
        if only:
            whole = self._graph()
            wanted = {need for name in only for need in (name, *whole.needs(name))}
            needs = [one for one in needs if one[0] in wanted]
        return Graph(
            one_by_one(needs) if chain else needs,
            cost=self._options.seconds,
            kind="release",
            where="openstack.services",
        )

    def _cluster(self) -> Api:
        if self._api is None:
            raise RolloutError(
                "there is no cluster to roll out to",
                where=f"site {self._plan.site}",
                why="releases run on it",
                remedy=f"run the layer first: ansible-playbook -i {self._options.site_file} groundup.cloud.kubernetes",
            )
        return self._api

    def _preview(self) -> tuple[ChangePreview, tuple[GateReason, ...]]:
        started = time.monotonic()
        self._say(f"rendering {len(self._releases)} releases and comparing them with what is live")
        spaces = namespaces.named(self._api) if self._api else []
        found = preview(
            self._plan.openstack.releases, version=self._plan.kubernetes.version, api=self._api, helm=self._helm,
            resolve=self._resolve, renders=self._limits.values["render"],
            namespaces=(self._plan.openstack.namespace, *spaces),
        )  # fmt: skip
        todo = [name for name in self._releases if name in found.rendered and not found.unchanged(name)]
        self._say(f"{len(todo)} of {len(self._releases)} releases to change, {time.monotonic() - started:.1f} s")
        for name in todo:
            counts = found.diffs[name].counts
            said = ", ".join(f"{kind} {_counted(entry)}" for kind, entry in counts.items())
            self._say(f"  {name}: {said or 'no object differs, its record does'}")
            if self._releases[name].is_extra and (more := reach(self._releases[name], found)):
                self._say(f"  {name}: {more}")
        held = holders_of_node_ports(self._api) if self._api else {}
        releases, named = self._plan.openstack.releases, self._options.remove
        against = reasons_against_removal(named, retired=found.retired, releases=releases)
        for line in announced(named, retired=found.retired, api=self._api) if self._api else ():
            self._say(line)
        wanted, alive = [release.namespace for release in releases], [live.namespace for live in found.retired.values()]
        for line in namespaces.forgotten(spaces, wanted=wanted, live=alive):
            self._say(line)
        extra = reasons_against_extra(self._plan, found, api=self._api, spaces=spaces)
        series = other_series(self._plan, found, context=self._verifiers.context, unsaved=self._options.unsaved)
        return found, (*reasons_against(self._plan, found, held), *series, *extra, *against)

    def _predicted(self, found: ChangePreview, reasons: tuple[GateReason, ...]) -> RolloutResult:
        result = self._reporter.predicted(found, reasons)
        for card in result.cards:
            self._say(cards.text(card))
        return result

    def _roll(self, found: ChangePreview, reasons: tuple[GateReason, ...], tools: Tools) -> RolloutResult:
        needs = self._graph()
        graph = self._graph(chain=self._options.one_by_one, only=self._options.only)
        reports: dict[str, ReleaseReport] = {}
        made: list[Card] = []

        def ended(name: str, future: Future[tuple[DeployResult, float]]) -> bool:
            outcome, seconds = future.result()
            reports[name] = self._reporter.report(name, outcome, seconds)
            tools.progress.update(name, reports[name].state)
            if outcome.symptom is None:
                return True
            lost = graph.lost(name)
            for other in lost:
                reports[other] = ReleaseReport(name=other, state="not started", changed=False, seconds=0.0)
                tools.progress.update(other, "not started", waiting_for=f"it needs {name}")
            made.append(self._card(outcome.symptom, needs, lost))
            tools.progress.say(cards.text(made[-1]))
            return False

        run(
            graph,
            lambda name: self._one(self._releases[name], needs.needs(name), found, tools),
            ended,
            jobs=len(self._releases),  # the limits decide how many go at once
            threads="release",
            stop=self._processes.stop,
            tick=tools.progress.tick,
        )
        return self._reporter.result(found, reasons, reports, made)

    def _one(
        self, release: ReleasePlan, needs: Iterable[str], found: ChangePreview, tools: Tools
    ) -> tuple[DeployResult, float]:
        with self._limits.hold(*claims(needs)):
            started = time.monotonic()  # waiting for its turn does not count
            outcome = deploy(release, found, tools)
            return outcome, time.monotonic() - started

    def _card(self, symptom: Symptom, graph: Graph, lost: tuple[str, ...]) -> Card:
        if symptom.stage == "verify":
            below = [self._verifiers.ask(self._releases[need]) for need in reversed(graph.needs(symptom.release))]
            own = Verification(checks=symptom.checks)
            symptom = replace(self._reporter.unwell(symptom.release, own, below), facts=symptom.facts)
        return self._reporter.card(symptom, affected=lost)

    def _resolve(self, values: Mapping[str, Any]) -> dict[str, Any]:
        return dict(self._secrets.resolve(dict(values)))


def _counted(entry: Mapping[str, int]) -> str:
    return "/".join(f"{count} {what}" for what, count in entry.items())
