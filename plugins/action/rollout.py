"""Action of module groundup.cloud.rollout: roll out the release graph from the controller."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from ..module_utils._base.changes import Changes
from ..module_utils._base.files import write_file
from ..plugin_utils.actions import DocumentedAction, finish
from ..plugin_utils.backup.restore import journal as restores
from ..plugin_utils.cloud import access
from ..plugin_utils.helm.diff import diff_text
from ..plugin_utils.https import trust_file
from ..plugin_utils.kube import run_lease
from ..plugin_utils.plan.types import Plan
from ..plugin_utils.release.judge import saved
from ..plugin_utils.rollout.diagnose import cards
from ..plugin_utils.rollout.gate import ownership
from ..plugin_utils.rollout.gate.decide import decide
from ..plugin_utils.rollout.page import page
from ..plugin_utils.rollout.session import Session, session
from ..plugin_utils.rollout.types import GateRefusedError, RolloutOptions, RolloutResult
from ..plugin_utils.status.backup_sets import set_rows
from ..plugin_utils.supply import missing
from ..plugin_utils.supply.publish import digests
from ..plugin_utils.upgrade import journal

TOOLS = ("helm",)  # programs of the lock that render releases
_HOURS = 1.0  # age at which the newest backup set is too old for another series of the database
PAGES = ("dashboard", "compute-novnc-proxy")  # endpoints that people open, and no catalog names


class ActionModule(DocumentedAction):
    """Check, apply or verify the releases of a site."""

    def work(self, given: dict[str, Any]) -> dict[str, Any]:
        """Return how each release ended."""
        verb = "check" if self._task.check_mode and given["verb"] == "apply" else given["verb"]
        options = RolloutOptions(
            start_timeout=given["start_timeout"],
            verify_timeout=given["verify_timeout"],
            hook_timeout=given["start_timeout"],
            force=tuple(given["force"]),
            remove=tuple(given["remove"]),
            one_by_one=given["one_by_one"],
            only=tuple(given["only"]),
            limits={name: int(value) for name, value in given["limits"].items()},
            unsaved=_unsaved,
        )

        def ended() -> dict[str, Any]:
            if verb != "apply" and (unmade := missing(TOOLS)):
                return _not_made(verb, unmade)
            with session(
                given["site_file"],
                say=self._display.display,
                options=options,
                reads_only=verb != "apply",
                foreseen=lambda plan: digests.of_dry_run(self.variables, seed=plan.supply.seed),
            ) as opened:
                if verb == "apply":
                    restores.refuse_beside(opened.plan.site, why=restores.HALF)
                if verb != "verify" and not options.one_by_one:
                    journal.refuse_mixed(opened.plan.site, opened.plan.openstack.release)
                # Hours, in which no other run may begin.
                with run_lease.kept(opened.plan.site) if verb == "apply" and options.one_by_one else nullcontext():
                    done = self._carry_out(verb, opened, options.force, place=given["page"])
                return _goes_on(done) if options.one_by_one and done["cards"] else done

        return finish({"releases": [], "cards": []}, ended)

    def _carry_out(
        self, verb: str, opened: Session, force: tuple[str, ...], *, place: str | None = None
    ) -> dict[str, Any]:
        rollout, beside = opened.rollout, Changes(check=verb != "apply")
        verbs: dict[str, Callable[[], RolloutResult]] = {
            "check": rollout.check,
            "apply": partial(rollout.apply, before=lambda: opened.prepare(beside)),
            "verify": rollout.verify,
        }
        # First: with another store's secrets, nothing may be changed or judged.
        claimed = opened.claim(write=False)
        if beside.check:
            opened.certify(beside)
        outcome = verbs[verb]()
        if verb == "apply":
            opened.remember(outcome)
        refused = _refused(outcome, force) if verb == "check" else ""
        if verb == "check" and place:
            write_file(Path(place), page(opened.plan.site, outcome, opened.redactor.text).encode(), mode=0o644)
        if verb == "verify":  # check and apply have already shown each card when it was created
            for card in outcome.cards:
                self._display.display(cards.text(card))
        if not outcome.failed:
            access.place(opened.plan, opened.store, beside)
        facts = _facts(verb, outcome) | {"access": _access(opened, outcome)}
        ended = {"failed": outcome.failed or bool(refused), "msg": refused or _msg(outcome)}
        if verb != "verify":
            changed = outcome.changed or bool(claimed) or bool(beside.done)
            facts |= {"changed": changed, "claimed": list(claimed)}
        elif beside.done:
            lacks = f"{'; '.join(beside.done)}: the playbook groundup.cloud.openstack does that"
            ended = {"failed": True, "msg": f"{ended['msg']}; not as they must be: {lacks}"}
        return {**facts, **self._diff(opened, outcome, claimed, beside), **ended}

    def _diff(
        self, opened: Session, outcome: RolloutResult, claimed: tuple[str, ...], beside: Changes
    ) -> dict[str, Any]:
        text = diff_text(outcome.diffs, opened.redactor.text) if self._task.diff and outcome.changed else ""
        if self._task.diff:
            text = "".join(f"+ {line}\n" for line in beside.done) + text
        if self._task.diff and claimed:
            text = f"+ ConfigMap/{ownership.NAME}: fingerprints of {', '.join(claimed)}\n{text}"
        return {"diff": {"prepared": text}} if text else {}


def _goes_on(done: dict[str, Any]) -> dict[str, Any]:
    """Return the result of a step of OpenStack's release that stopped, with its first card and what comes next."""
    card = done["cards"][0]
    where = f"stopped at {card['release']}, {card['object']}: {card['what']}"
    again = "put that right, then groundup.cloud.openstack_upgrade goes on"
    return done | {"msg": f"{done['msg']}; {where}. {card['next']}; {again}"}


def _unsaved(plan: Plan) -> tuple[str, str]:
    """Return what the newest backup set lacks for another series of the database, and what to do."""
    row = saved(set_rows(plan, days=_HOURS / 24), _HOURS)
    return ("", "") if row.state == "ok" else (f"{row.name}: {row.what}", row.remedy)


def _not_made(verb: str, unmade: tuple[str, ...]) -> dict[str, Any]:
    """Return the result when artifacts are missing; check and verify build nothing."""
    lacks = f"the cache lacks {', '.join(unmade)}, which the playbook groundup.cloud.supply makes"
    if verb == "verify":
        return {"failed": True, "msg": f"nothing was asked: {lacks}", "releases": [], "cards": []}
    return {"changed": True, "msg": f"no release can be rendered yet, so that differences are not known: {lacks}",
            "not_known": True, "releases": [], "cards": []}  # fmt: skip


def _refused(outcome: RolloutResult, force: tuple[str, ...]) -> str:
    """Return why the gate would refuse the predicted change, ``""`` if it would not."""
    try:
        decide(outcome.reasons, force=force)
    except GateRefusedError as error:
        return str(error)
    return ""


def _access(opened: Session, outcome: RolloutResult) -> dict[str, str]:
    """Return how to reach the cloud, for the end of the run; nothing before Keystone has issued a token."""
    if outcome.failed or "token_expires_at" not in outcome.facts:
        return {}
    plan, directory = opened.plan, opened.directory
    urls = {one.type: one.url for one in plan.edge.endpoints if one.type in PAGES or one.in_catalog}
    users = plan.edge.public.address if plan.edge.public else ""
    asked = [one for one in plan.edge.endpoints if one.type in urls and not (users and one.internal)]
    names = " ".join(sorted(one.name for one in asked))
    told = {
        "dashboard": urls.get("dashboard", ""),
        "login": f"user admin, password in {directory / access.CLOUDS}",
        "CLI": f"OS_CLIENT_CONFIG_FILE={directory / access.CLOUDS} openstack --os-cloud {plan.site} catalog list",
        "CA": "" if plan.edge.public_root else _ca(plan),
        "names": f"{directory / 'dns.zone'}, or this line in /etc/hosts:",
        "": f"{users or plan.edge.address} {names}",
        "again": "the same command, as often as you like: a run without a change changes nothing",
    }
    return {label: text for label, text in told.items() if text}


def _ca(plan: Plan) -> str:
    """Return which CA browsers and clients must trust, when it is no public one."""
    if plan.edge.certificate:
        return f"the one of edge.certificate ({trust_file(plan)} has it): browsers and clients must trust it"
    return f"{trust_file(plan)}: browsers and clients must trust it"


def _facts(verb: str, outcome: RolloutResult) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "changed": outcome.changed,
        "releases": [asdict(report) for report in outcome.releases],
        "site": [asdict(check) for check in outcome.site],
        "cards": [asdict(card) for card in outcome.cards],
        **outcome.facts,
    }
    if verb != "verify":
        facts["changes"] = {diff.release: diff.counts for diff in outcome.diffs if diff.changes}
        facts["reasons"] = [asdict(reason) for reason in outcome.reasons]
    return facts


def _msg(outcome: RolloutResult) -> str:
    states: dict[str, list[str]] = {}
    for report in outcome.releases:
        states.setdefault(report.state, []).append(report.name)
    for check in outcome.site:
        if not check.ok:
            states.setdefault("failed", []).append(check.name)
    return "; ".join(f"{state}: {', '.join(names)}" for state, names in states.items()) or "there are no releases"
