"""Action of module groundup.cloud.machine_overview: runs on the controller."""

from __future__ import annotations

import time
from typing import Any

from ..plugin_utils.actions import DocumentedAction
from ..plugin_utils.metal.delegated import refresher
from ..plugin_utils.metal.follow import View, follow
from ..plugin_utils.metal.journal import home_of
from ..plugin_utils.metal.overview import Overview, as_dict, as_json, summary, table
from ..plugin_utils.plan import load_site, make_plan
from ..plugin_utils.progress import TERMINAL


class ActionModule(DocumentedAction):
    """Show the states of machines."""

    def work(self, given: dict[str, Any]) -> dict[str, Any]:
        """Return one record per machine."""
        plan = make_plan(load_site(given["site_file"]))
        overview, ended = Overview(plan, home_of(plan.site), refresh=refresher(plan)), True
        if given["follow"]:
            view = View(say=self._display.display, draw=self.draw, terminal=TERMINAL)
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
            **({"warnings": [f"what the seed's runner did is not known: {overview.lacks}"]} if overview.lacks else {}),
        }
