"""Action of module groundup.cloud.machine_install: runs on the controller, for all machines at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ..plugin_utils.actions import DocumentedAction
from ..plugin_utils.errors import GroundupError
from ..plugin_utils.layers.aside import Aside
from ..plugin_utils.metal.batch import LeftError
from ..plugin_utils.metal.install import InstallOptions, install
from ..plugin_utils.metal.journal import home_of
from ..plugin_utils.metal.page import page_of, shown
from ..plugin_utils.metal.runner import Runner
from ..plugin_utils.plan import Plan, load_site, make_plan

LAYER = "ironic"


class ActionModule(DocumentedAction):
    """Install machines."""

    def work(self, given: dict[str, Any]) -> dict[str, Any]:
        """Return the changes and the machines to set aside."""
        changes = self.changes
        plan = make_plan(load_site(given["site_file"]))
        say = self._display.display
        runner = Runner(site_file=Path(given["site_file"]), home=home_of(plan.site), layers=given["layers"], say=say)
        then = runner.configure if given["layers"] else None
        options = InstallOptions(
            at_once=max(1, given["at_once"]),
            per_rack=given["per_rack"],
            timeout=given["timeout"],
            discovery=given["discovery"],
            again=given["again"],
            wait_all=given["wait_all"],
        )
        refuse_two(plan, given["layers"])
        _refuse_others(given["again"], given["hosts"])
        page = None if changes.check else page_of(plan)
        with shown(plan, page, say):
            failed = install(changes, plan, given["hosts"], say, options, then=then, page=page)
        away = [_aside(name, error) for name, error in sorted(failed.items())]
        return {**changes.result(), "aside": [asdict(one) for one in away], "warnings": [one.said for one in away]}


def refuse_two(plan: Plan, layers: Sequence[str] | None) -> None:
    """Raise GroundupError if both controller and seed would configure machines."""
    if layers and plan.metal and plan.metal.runner:
        raise GroundupError(
            "two would configure each machine",
            where="the variable machine_layers",
            why=f"the site file has the seed run {', '.join(plan.metal.runner.layers)} (seed.runner)",
            remedy="leave the variable out, or seed.runner",
        )


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
