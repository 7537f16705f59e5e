"""Action of module groundup.cloud.machines. Step ready asks a machine; the others run on the controller for many."""

from __future__ import annotations

import time
from dataclasses import asdict
from pathlib import Path
from typing import Any, ClassVar

from ansible.errors import AnsibleConnectionFailure

from ..plugin_utils.actions import DocumentedAction
from ..plugin_utils.layers import aside
from ..plugin_utils.metal.ready import boot_command, boot_fault, login_fault
from ..plugin_utils.plan import load_site, make_plan
from ..plugin_utils.progress import TERMINAL
from ..plugin_utils.run_mode import dry_run

LAYER = "metal"


class ActionModule(DocumentedAction):
    """Approve, install, show or check machines."""

    _requires_connection = True  # for ready
    RULES: ClassVar = {
        "required_if": [
            ("step", "approve", ("site_file", "name")),
            ("step", "install", ("site_file", "hosts")),
            ("step", "overview", ("site_file",)),
            ("step", "ready", ("login", "remedy")),
        ]
    }

    def work(self, given: dict[str, Any]) -> dict[str, Any]:
        steps = {"approve": self._approve, "install": self._install, "overview": self._overview, "ready": self._ready}
        return steps[given["step"]](given)

    def _approve(self, given: dict[str, Any]) -> dict[str, Any]:
        """Return what was approved."""
        from ..plugin_utils.metal.install import approve  # late: only this and install need Ironic's client

        approve(self.changes, make_plan(load_site(given["site_file"])), given["name"], self._display.display)
        return self.changes.result()

    def _install(self, given: dict[str, Any]) -> dict[str, Any]:
        """Return the changes and the machines to set aside."""
        from ..plugin_utils.metal.batch import set_aside
        from ..plugin_utils.metal.install import InstallOptions, install, refuse_others
        from ..plugin_utils.metal.journal import home_of
        from ..plugin_utils.metal.page import page_of, shown
        from ..plugin_utils.metal.runner import Runner, refuse_two

        plan = make_plan(load_site(given["site_file"]))
        say, layers = self._display.display, given["layers"]
        runner = Runner(site_file=Path(given["site_file"]), home=home_of(plan.site), layers=layers, say=say)
        options = InstallOptions(
            at_once=max(1, given["at_once"]),
            per_rack=given["per_rack"],
            timeout=given["timeout"],
            discovery=given["discovery"],
            again=given["again"],
            wait_all=given["wait_all"],
        )
        refuse_two(plan, layers)
        refuse_others(given["again"], given["hosts"])
        page, then = None if self.changes.check else page_of(plan), runner.configure if layers else None
        with shown(plan, page, say):
            failed = install(self.changes, plan, given["hosts"], say, options, then=then, page=page)
        away = set_aside(failed)
        return {**self.changes.result(), "aside": [asdict(one) for one in away], "warnings": [one.said for one in away]}

    def _overview(self, given: dict[str, Any]) -> dict[str, Any]:
        """Return one record per machine."""
        from ..plugin_utils.metal.delegated import refresher
        from ..plugin_utils.metal.follow import View, follow
        from ..plugin_utils.metal.journal import home_of
        from ..plugin_utils.metal.overview import Overview, as_dict, as_json, summary, table

        plan = make_plan(load_site(given["site_file"]))
        overview, ended = Overview(plan, home_of(plan.site), refresh=refresher(plan)), True
        if given["follow"]:
            view = View(say=self._display.display, draw=self.draw, terminal=TERMINAL)
            rows, ended = follow(overview, view, timeout=given["idle_timeout"])
        else:
            rows = overview.rows()
        now = time.time()
        if given["output"] == "json":
            self._display.display(as_json(plan.site, rows, now))
        elif not given["follow"] or TERMINAL is None:
            self._display.display(table(rows, now))
        waits = "" if ended else f"; nothing has changed for {given['idle_timeout']} s"
        return {
            "changed": False,
            "machines": [as_dict(row, now) for row in rows],
            "msg": f"{plan.site}: {summary(rows)}{waits}",
            **({"warnings": [f"what the seed's runner did is not known: {overview.lacks}"]} if overview.lacks else {}),
        }

    def _ready(self, given: dict[str, Any]) -> dict[str, Any]:
        """Return nothing if the machine is ready; else why it is set aside, or its new group."""
        variables, within, result = self.variables, given["boot_timeout"], dict[str, Any]()
        if within is not None and self._task.check_mode:
            return {"skipped": True}  # nothing was started
        name = str(variables["inventory_hostname"])
        try:
            if within is None:
                result = self._execute_module(module_name="ansible.builtin.ping", module_args={}, task_vars=variables)
                fault = aside.failed(name, LAYER, result) if result.get("failed") else None
            else:
                done = self._low_level_execute_command(boot_command(within))
                said = done["stdout"].strip() or done["stderr"].strip()
                wrong = boot_fault(name, done["rc"], said, within=within)
                fault = aside.failed(name, LAYER, {"msg": str(wrong)}) if wrong else None
        except AnsibleConnectionFailure as error:
            if group := given["unreachable_group"]:
                return {"add_group": group, "parent_groups": ["all"], "msg": str(error)}
            if dry_run(variables):
                return aside.result(aside.unreachable(name, LAYER, error))
            refused = login_fault(name, error, login=given["login"], remedy=given["remedy"])
            fault = aside.failed(name, LAYER, {"msg": str(refused)})
        return aside.result(fault, result) if fault else result
