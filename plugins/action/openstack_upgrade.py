"""Action of module groundup.cloud.openstack_upgrade: look at a cloud before a step of OpenStack's release."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from ..module_utils._base.files import write_file
from ..plugin_utils import site_identity
from ..plugin_utils.actions import DocumentedAction, ended
from ..plugin_utils.compose import site_plan
from ..plugin_utils.release.check import check
from ..plugin_utils.release.page import page
from ..plugin_utils.status.rows import BAD, worst
from ..plugin_utils.vault import open_store


class ActionModule(DocumentedAction):
    """Check, and write the page for reviewers."""

    def work(self, given: dict[str, Any]) -> dict[str, Any]:
        """Return what was found. Reads only, whatever the mode."""
        plan = site_plan(given["site_file"])
        site_identity.refuse_other(plan, self.variables.get("site_force") or ())
        target = given["release"] or plan.openstack.release
        password = open_store(plan.site, write=False).get("rabbitmq/admin")
        found = check(plan, target=target, password=password, hours=given["backup_hours"])
        text = page(plan.site, before=found.before, target=target, parts=found.parts)
        self._display.display(text)
        if given["page"]:
            write_file(Path(given["page"]), text.encode(), mode=0o644)
        state = worst(found.parts)
        told = {
            "from": list(found.before), "to": target, "state": state,
            "parts": {name: [asdict(row) for row in rows] for name, rows in found.parts.items()},
        }  # fmt: skip
        step = f"{' and '.join(found.before) or 'nothing'} to {target}"
        said = "nothing is in the way" if state in ("ok", "warning") else f"not yet: a row is {state}"
        return ended(f"{step}: {said}", broken=state in BAD, unknown=state == "unknown") | told
