"""Action of module groundup.cloud.machine_install: on the controller, for all machines at once."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from ansible.plugins.action import ActionBase
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.plugin_utils.actions import finish
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.layers.aside import Aside
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.batch import LeftError
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.install import Options, install
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.journal import home_of
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.page import page_of, shown
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.runner import Runner
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import load_site, make_plan

ARGUMENTS = {
    "site_file": {"type": "path", "required": True},
    "hosts": {"type": "list", "elements": "str", "required": True},
    "layers": {"type": "list", "elements": "str", "default": []},
    "at_once": {"type": "int", "default": 20},
    "per_rack": {"type": "int"},
    "again": {"type": "list", "elements": "str", "default": []},
    "timeout": {"type": "int", "default": 3600},
    "discovery": {"type": "int", "default": 600},
    "wait_all": {"type": "bool", "default": False},
}
LAYER = "ironic"


class ActionModule(ActionBase):  # type: ignore[misc]  # ansible ships no types
    """Brings machines to installed."""

    _requires_connection = False

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Return what was done."""
        result: dict[str, Any] = super().run(tmp, task_vars)
        _, given = self.validate_argument_spec(ARGUMENTS)
        changes = Changes(check=bool(self._task.check_mode))

        def work() -> dict[str, Any]:
            plan = make_plan(load_site(given["site_file"]))
            say = self._display.display
            runner = Runner(
                site_file=Path(given["site_file"]), home=home_of(plan.site), layers=given["layers"], say=say
            )
            then = runner.configure if given["layers"] else None
            options = Options(
                at_once=max(1, given["at_once"]),
                per_rack=given["per_rack"],
                timeout=given["timeout"],
                discovery=given["discovery"],
                again=given["again"],
                wait_all=given["wait_all"],
            )
            _refuse_others(given["again"], given["hosts"])
            page = None if changes.check else page_of(plan)
            with shown(plan, page, say):
                failed = install(changes, plan, given["hosts"], say, options, then=then, page=page)
            away = [_aside(name, error) for name, error in sorted(failed.items())]
            warnings = [f"{one.host} is set aside in layer {LAYER}: {one.reason}" for one in away]
            return {**changes.result(), "aside": [asdict(one) for one in away], "warnings": warnings}

        return finish(result, work, changes=changes)


def _aside(name: str, error: GroundupError) -> Aside:
    pending = isinstance(error, LeftError)
    return Aside(host=name, layer=LAYER, reason=error.what, remedy=error.remedy, pending=pending)


def _refuse_others(again: list[str], hosts: list[str]) -> None:
    if unknown := sorted(set(again) - set(hosts)):
        raise GroundupError(
            f"{', '.join(unknown)} cannot begin again",
            where="the variable machine_again",
            why="this run installs no machine of that name",
            remedy=f"name some of {', '.join(hosts[:20])}",
        )
