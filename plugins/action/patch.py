"""Action of module groundup.cloud.patch: what to ask a host, and the report of all answers."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar

from ..module_utils._base.files import read, write_file
from ..plugin_utils import site_identity
from ..plugin_utils.actions import ended
from ..plugin_utils.errors import GroundupError
from ..plugin_utils.patch import report
from ..plugin_utils.paths import state_dir
from ..plugin_utils.pki import openpgp
from ..plugin_utils.plan import Plan, load_site, make_plan
from ..plugin_utils.status.asking import AskingAction
from ..plugin_utils.supply.publish import snapshots


class ActionModule(AskingAction):
    """Ask one host, or report."""

    RULES: ClassVar = {"required_if": [("step", "report", ("hosts",))]}

    def work(self, given: dict[str, Any]) -> dict[str, Any]:
        """Return the step's result."""
        plan = make_plan(load_site(given["site_file"]))
        site_identity.refuse_other(plan, self.variables.get("site_force") or ())
        if given["step"] == "look":
            return self.ask(plan, "look", lambda host: _source(plan, host.name), proof="restarts")
        return self._report(plan, given)

    def _report(self, plan: Plan, given: dict[str, Any]) -> dict[str, Any]:
        """Print what would change; refuse to change it."""
        variables = self.variables["hostvars"]
        said = {name: dict(variables[name].get(given["result"]) or {}) for name in given["hosts"] if name in plan.hosts}
        for one in said.values():
            for key in ("changed", "failed", "ansible_facts"):
                one.pop(key, None)
        found = report.document(
            plan, said, snapshots=_places(plan), time=datetime.now(UTC).isoformat(timespec="seconds")
        )
        text = json.dumps(found, indent=2)
        self._display.display(text if given["output"] == "json" else report.table(found))
        if given["path"]:
            write_file(Path(given["path"]), f"{text}\n".encode(), mode=0o644)
        if given["apply"]:
            raise GroundupError(
                "groundup.cloud.patch upgrades no packages in this version",
                where=f"{plan.site}, {sum(len(batch) for batch in found['order'])} hosts",
                why="it does not yet drain a host, restart it and verify it before the next one",
                remedy="run it with --tags check, and patch host by host as the page patch says, in the order above",
            )
        unknown = any("changes" not in one for one in said.values())
        return ended(report.summary(found), unknown=unknown) | {"patch": found}


def _places(plan: Plan) -> dict[str, str]:
    return snapshots.places(snapshots.load(plan.site), plan.supply.packages)


def _source(plan: Plan, host: str) -> dict[str, Any]:
    """Return the options of the module: the seed's packages, as the role host gives them."""
    directory = state_dir(plan.site)
    seed = {
        "url": f"file:{plan.supply.files_root}" if host == plan.supply.seed else plan.supply.files_url,
        "places": _places(plan),
        "key": read(directory / openpgp.FILE) or "",
    }
    return {
        "packages_seed": seed if plan.supply.packages else None,
        "ca_certificate": read(directory / "ca.crt") or "",
    }
