"""Action of module groundup.cloud.upgrade: the steps of the room upgrade, on the controller."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

from ..plugin_utils.actions import DocumentedAction
from ..plugin_utils.backup.restore import journal as restores
from ..plugin_utils.kube import run_lease
from ..plugin_utils.patch import journal as maintenance
from ..plugin_utils.upgrade.job import UpgradeJob
from ..plugin_utils.upgrade.run import UpgradeRun


class ActionModule(DocumentedAction):
    """Run one step."""

    RULES: ClassVar = {"required_if": [(("step"), step, ("kind",)) for step in ("enter", "leave", "fail")]}

    def work(self, given: dict[str, Any]) -> dict[str, Any]:
        names = ("site_file", "force", "seen", "until")
        job = UpgradeJob(say=self._display.display, **{name: given[name] for name in names})
        step = given["step"]
        if step == "check":
            restores.refuse_beside(job.plan().site, why=restores.HALF)
            job = replace(job, resting=maintenance.hosts(job.plan().site))
        if step in ("check", "verify"):
            return {"check": job.check, "verify": job.verify}[step]()
        if self.changes.check:
            return {"skipped": True, "msg": "nothing changes in check mode"}
        run = UpgradeRun(
            job=job, kind=given["kind"] or "control", hosts=given["hosts"], evict=given["evict"],
            timeout=given["timeout"],
        )  # fmt: skip
        if step == "fail":
            return run.fail(given["said"])
        steps = {"back": run.back, "begin": run.begin, "enter": run.enter, "leave": run.leave, "end": run.end}
        with run_lease.kept(job.plan().site) as warnings:
            done = steps[step]()
        return done | ({"warnings": warnings} if warnings else {})
