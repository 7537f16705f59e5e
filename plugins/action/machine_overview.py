"""Action of module groundup.cloud.machine_overview: the machines of a site, shown on the controller."""

from __future__ import annotations

import time
from typing import Any

from ansible.plugins.action import ActionBase
from ansible_collections.groundup.cloud.plugins.plugin_utils.actions import finish
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.follow import View, follow
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.journal import home_of
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.overview import (
    Overview,
    as_dict,
    as_json,
    summary,
    table,
)
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import load_site, make_plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.progress import TERMINAL

ARGUMENTS = {
    "site_file": {"type": "path", "required": True},
    "output": {"type": "str", "choices": ["table", "json"], "default": "table"},
    "follow": {"type": "bool", "default": False},
    "timeout": {"type": "int", "default": 1800},
}


class ActionModule(ActionBase):  # type: ignore[misc]  # ansible ships no types
    """Shows where machines are."""

    _requires_connection = False

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Return a record a machine."""
        result: dict[str, Any] = super().run(tmp, task_vars)
        _, given = self.validate_argument_spec(ARGUMENTS)
        return finish(result, lambda: self._shown(given))

    def _shown(self, given: dict[str, Any]) -> dict[str, Any]:
        plan = make_plan(load_site(given["site_file"]))
        overview, ended = Overview(plan, home_of(plan.site)), True
        if given["follow"]:
            view = View(say=self._display.display, draw=self._draw, terminal=TERMINAL)
            rows, ended = follow(overview, view, timeout=given["timeout"])
        else:
            rows = overview.rows()
        now = time.time()
        if given["output"] == "json":
            self._display.display(as_json(plan.site, rows, now))
        elif not given["follow"] or TERMINAL is None:
            self._display.display(table(rows, now))
        waits = "" if ended else f"; nothing has changed for {given['timeout']} s"
        return {
            "changed": False,
            "machines": [as_dict(row, now) for row in rows],
            "msg": f"{plan.site}: {summary(rows)}{waits}",
        }

    def _draw(self, text: str) -> None:
        self._display.display(text, screen_only=True, newline=False)
