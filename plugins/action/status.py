"""Action of module groundup.cloud.status: what to ask a host, and the table of all answers."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, ClassVar

from ..plugin_utils import site_identity
from ..plugin_utils.actions import ended
from ..plugin_utils.plan import Plan, load_site
from ..plugin_utils.status import hosts, report
from ..plugin_utils.status.asking import AskingAction
from ..plugin_utils.status.rows import BAD, document, table, verdict, worst
from ..plugin_utils.upgrade.journal import live_plan


class ActionModule(AskingAction):
    """Ask one host, or report."""

    RULES: ClassVar = {"required_if": [("step", "report", ("hosts",))]}

    def work(self, given: dict[str, Any]) -> dict[str, Any]:
        plan = live_plan(load_site(given["site_file"]))
        site_identity.refuse_other(plan, self.variables.get("site_force") or ())
        if given["step"] == "host":
            return self.ask(plan, "host", lambda host: {"wanted": hosts.wanted(plan, host)}, proof="parts")
        return self._report(plan, given)

    def _report(self, plan: Plan, given: dict[str, Any]) -> dict[str, Any]:
        """Print the state, and end with the exit code that it has."""
        variables = self.variables["hostvars"]
        said = {name: dict(variables[name].get(given["result"]) or {}) for name in given["hosts"] if name in plan.hosts}
        parts = report.of_answers(plan, said)
        found = document(plan.site, datetime.now(UTC).isoformat(timespec="seconds"), parts)
        self.tell(found, table(plan.site, parts), output=given["output"], path=given["path"])
        state = worst(parts)
        return ended(verdict(plan.site, parts), broken=state in BAD, unknown=state == "unknown") | {"status": found}
