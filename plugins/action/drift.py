"""Action of module groundup.cloud.drift: the layers' dry runs and the state of the site, as one table."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from ..plugin_utils import site_identity
from ..plugin_utils.actions import DocumentedAction, ended
from ..plugin_utils.commands import runnable
from ..plugin_utils.drift import beside, dry_runs, heal
from ..plugin_utils.drift.rows import DriftRow, document, metrics, table
from ..plugin_utils.errors import GroundupError
from ..plugin_utils.paths import state_dir
from ..plugin_utils.plan import Plan, load_site
from ..plugin_utils.status import report
from ..plugin_utils.upgrade.journal import live_plan


class ActionModule(DocumentedAction):
    """Compare the site with its file."""

    def work(self, given: dict[str, Any]) -> dict[str, Any]:
        """Print what differs, and end with the exit code that it has. What ends the look itself is unknown, too."""
        if "ansible_limit" in self.variables:
            return ended("drift is of the whole site: run it without --limit", unknown=True)
        found = given["found"]
        if given["step"] == "judge":
            return ended(found["summary"], broken=found["state"] == "drift", unknown=found["state"] == "unknown")
        try:
            return self._healed(given) if given["step"] == "heal" else self._compare(given)
        except (GroundupError, OSError) as error:
            return ended(str(error), unknown=True)

    def _compare(self, given: dict[str, Any]) -> dict[str, Any]:
        plan = live_plan(load_site(given["site_file"]))
        site_identity.refuse_other(plan, self.variables.get("site_force") or ())
        names = dry_runs.layers(plan, self.variables["groups"])
        return self._told(plan, given, names, self._rows(plan, given, names))

    def _healed(self, given: dict[str, Any]) -> dict[str, Any]:
        """Run what may run unattended, and compare again if something did. An error of its own mends nothing."""
        plan, found = live_plan(load_site(given["site_file"])), given["found"]
        wanted = plan.monitoring.heal if plan.monitoring else None
        if wanted is None:  # the site file changed after this run began
            return {"changed": False}
        rows, names = [DriftRow(**row) for row in found["rows"]], dry_runs.layers(plan, self.variables["groups"])
        say: Callable[[str], None] = self._display.display
        try:
            ran, why, record = heal.heal(plan, wanted, rows, site_file=given["site_file"], say=say)
        except (GroundupError, OSError) as error:
            ran, why, record = [], str(error), heal.broken(wanted.layers, str(error))
        when = datetime.fromisoformat(found["time"]).timestamp()
        told: dict[str, Any] = {"drift": found, "metrics": metrics(rows, names, now=when)}
        if ran:
            rows = self._rows(plan, given, names)
            told = self._told(plan, given, names, rows)
            record = heal.judged(plan.site, record, ran, rows)
        for layer in ran:
            say(runnable(f"healed by itself: {layer}: {record[layer].failed or 'nothing differs any more'}"))
        if why:
            say(runnable(f"healed by itself: {'no more' if ran else 'nothing'}: {why}"))
        return told | {"changed": bool(ran), "metrics": told["metrics"] + heal.metrics(record, wanted.layers)}

    def _told(self, plan: Plan, given: dict[str, Any], names: list[str], rows: list[DriftRow]) -> dict[str, Any]:
        note, now = _note(plan, rows), datetime.now(UTC)
        found = document(plan.site, now.isoformat(timespec="seconds"), rows, note)
        self.tell(found, table(plan.site, rows, note), output=given["output"], path=given["path"])
        return {"changed": False, "metrics": metrics(rows, names, now=now.timestamp()), "drift": found}

    def _rows(self, plan: Plan, given: dict[str, Any], names: list[str]) -> list[DriftRow]:
        variables = self.variables["hostvars"]
        said = {name: dict(variables[name].get(given["result"]) or {}) for name in plan.hosts}
        absent = [name for name, one in said.items() if "parts" not in one]
        rows = [
            *beside.of_status(plan, report.of_answers(plan, said)),
            *dry_runs.rows(given["site_file"], names, absent=absent),
        ]
        try:
            rows = beside.asked(plan, rows)
        except GroundupError as error:
            what = f"{error.what} ({error.where})"
            rows.append(DriftRow(layer="kubernetes", host="localhost", what=what, remedy=error.remedy, unknown=True))
        return sorted(rows, key=lambda row: names.index(row.layer) if row.layer in names else len(names))


def _note(plan: Plan, rows: list[DriftRow]) -> str:
    """Return whether the site file or something else changed since a run last wrote the plan."""
    path = state_dir(plan.site) / "plan.json"
    if not path.is_file():
        return "no run has written a plan yet"
    when = datetime.fromtimestamp(path.stat().st_mtime, UTC).isoformat(timespec="seconds")
    if any(row.layer == "plan" and not row.unknown for row in rows):
        return f"the site file or this collection changed since the plan of {when}"
    return f"the plan is that of {when}: what differs was changed outside the site file, or not applied since"
