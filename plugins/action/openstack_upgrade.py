"""Action of module groundup.cloud.openstack_upgrade: a step of OpenStack's release, and a look at the cloud before."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, ClassVar

from ..module_utils._base.files import write_file
from ..plugin_utils import site_identity
from ..plugin_utils.actions import DocumentedAction, ended
from ..plugin_utils.backup.restore import journal as restores
from ..plugin_utils.commands import runnable
from ..plugin_utils.compose import site_plan
from ..plugin_utils.kube import run_lease
from ..plugin_utils.kube.access import kubeconfig_path
from ..plugin_utils.patch import journal as maintenance
from ..plugin_utils.release.check import ReleaseCheck
from ..plugin_utils.release.page import page
from ..plugin_utils.release.run import ReleaseUpgrade
from ..plugin_utils.status.rows import BAD, worst
from ..plugin_utils.vault import Redactor, open_store


class ActionModule(DocumentedAction):
    """Look, check, and do the control node's parts of the step."""

    RULES: ClassVar = {"required_if": [("step", "joined", ("hosts",)), ("step", "lost", ("lacking",))]}

    def work(self, given: dict[str, Any]) -> dict[str, Any]:
        plan = site_plan(given["site_file"], target=True)
        site_identity.refuse_other(plan, self.variables.get("site_force") or ())
        if given["release"]:
            plan = replace(plan, openstack=replace(plan.openstack, release=given["release"]))
        store = open_store(plan.site, write=False) if kubeconfig_path(plan.site).is_file() else None
        hidden = Redactor(store.items() if store else {})
        run = ReleaseUpgrade(
            plan=plan, say=self._display.display, force=given["force"], hours=given["backup_hours"],
            password=store.get("rabbitmq/admin") if store else "", absent=given["absent"],
            resting=maintenance.hosts(plan.site),
            said=hidden.value(given["said"]),
        )  # fmt: skip
        step, lacking = given["step"], hidden.value(given["lacking"])
        if step == "check":
            restores.refuse_beside(plan.site, why=restores.HALF)
        if step in ("look", "check"):
            found = run.look()
            told = self._told(run, found, given["page"])
            return told if step == "look" else run.check(found)
        if step == "verify":
            return run.verify()
        if self.changes.check:
            return {"skipped": True, "msg": "nothing changes in check mode"}
        steps = {
            "ask": run.ask, "back": run.back, "begin": run.begin, "move": run.move, "restart": run.restart,
            "data": run.data, "joined": lambda: run.joined(given["hosts"], lacking),
            "lost": lambda: run.lost(lacking), "end": run.end,
        }  # fmt: skip
        with run_lease.kept(plan.site) as warnings:
            done = steps[step]()
        return done | ({"warnings": warnings} if warnings else {})

    def _told(self, run: ReleaseUpgrade, found: ReleaseCheck, place: str | None) -> dict[str, Any]:
        """Print the page for reviewers; return what it says."""
        text = page(run.plan.site, before=found.before, target=run.target, parts=found.parts)
        self._display.display(runnable(text))
        if place:
            write_file(Path(place), text.encode(), mode=0o644)
        state = worst(found.parts)
        step = f"{' and '.join(found.before) or 'nothing'} to {run.target}"
        said = "nothing is in the way" if state in ("ok", "warning") else f"not yet: a row is {state}"
        parts = {name: [asdict(row) for row in rows] for name, rows in found.parts.items()}
        told = {"from": list(found.before), "to": run.target, "state": state, "parts": parts}
        return ended(f"{step}: {said}", broken=state in BAD, unknown=state == "unknown") | told
