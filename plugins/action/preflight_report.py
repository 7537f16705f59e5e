"""Action of module groundup.cloud.preflight_report: judge all hosts together."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

from ..plugin_utils.actions import DocumentedAction
from ..plugin_utils.contact.host_keys import shown
from ..plugin_utils.kube.access import known_nodes
from ..plugin_utils.preflight_report import lines, spared, summary, table
from ..plugin_utils.run_mode import dry_run


class ActionModule(DocumentedAction):
    """Print the table; fail on an error, unless the run may continue without the hosts concerned."""

    def work(self, given: dict[str, Any]) -> dict[str, Any]:
        """Return the lines of the table, and the hosts to set aside."""
        variables = self.variables
        hostvars = variables["hostvars"]
        found = {host: hostvars[host].get(given["result"], {}) for host in given["hosts"]}
        found = {host: one for host, one in found.items() if "aside" not in one}  # it is down: its state is unknown
        predicts = bool(dry_run(variables) or self._task.check_mode)
        seen = lines(found, predicts=predicts)
        site = variables["groundup_site"]
        limits = site["max_unavailable"]
        able = (host for host in found if int(limits[hostvars[host]["groundup_host"]["group"]]))
        away = spared(seen, found, able, nodes=known_nodes(site["site"]))
        if away:
            seen = [replace(one, severity="warning") for one in seen]
        said = summary(seen, hosts=len(found))
        if seen:
            self._display.display(table(seen, hosts=len(found)))
        unknown = {
            host: one["contact"]["host_key"]
            for host, one in found.items()
            if (one.get("contact") or {}).get("host_key")
        }
        if unknown:
            self._display.display(f"\n{shown(unknown)}")
        result: dict[str, Any] = {
            "changed": False,
            "lines": [asdict(one) for one in seen],
            "aside": [asdict(one) for one in away],
            "msg": said,
        }
        if away:
            result["warnings"] = [one.said for one in away]
        elif any(one.severity == "error" for one in seen):
            result |= {"failed": True, "msg": f"{said}. Nothing was changed on any host: correct this, then run again"}
        return result
