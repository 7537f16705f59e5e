"""Action of module groundup.cloud.seed_backup: store backups on the controller, and send them to the seed."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from ..plugin_utils.actions import DocumentedAction
from ..plugin_utils.backup import seed as backups
from ..plugin_utils.plan import Plan, load_site, make_plan


class ActionModule(DocumentedAction):
    """Run one step, with the module on the seed where it needs the seed's state."""

    _requires_connection = True

    def work(self, given: dict[str, Any]) -> dict[str, Any]:
        """Return the step's result."""
        plan = make_plan(load_site(given["site_file"]))
        if given["step"] == "verify":
            backup = backups.verify(plan.site, days=given["days"])
            return {"changed": False, "backup": backups.shelf(plan.site).summary(backup)}
        if given["step"] == "take":
            return self._take(given, plan)
        return self._restore(given, plan, go=given["step"] == "restore")

    def _restore(self, given: dict[str, Any], plan: Plan, *, go: bool) -> dict[str, Any]:
        backup, found, data = backups.load(plan.site, given["source"])
        now = self.on_host(site_file=given["site_file"], step="check")
        if now.get("failed"):
            return now
        there = _nodes(now)
        backups.refuse(backup, found, plan, schema=now["schema"], there=there, force=given["force"])
        if go:
            # Back up first, so that everything replaced was saved. Stored apart, so that it is never "the newest".
            before = self._take(given, plan, replaced=True) if there else {}
            if before.get("failed"):
                return before
            port = plan.metal.api_inside if plan.metal else 0
            content = base64.b64encode(data).decode()
            now = self.on_host(
                site_file=given["site_file"], step="restore", content=content, source=backup.name, port=port
            )
            if now.get("failed"):
                return now
            now["changes"] = [*before.get("changes", ()), *now["changes"]]
        warnings = backups.warnings(backup, found, plan)
        return now | {"backup": backups.shelf(plan.site).summary(backup), "warnings": warnings}

    def _take(self, given: dict[str, Any], plan: Plan, *, replaced: bool = False) -> dict[str, Any]:
        now = datetime.now(UTC)  # taken before the backup: later journal entries are not in it
        done = self.on_host(site_file=given["site_file"], step="take")
        if done.get("failed"):
            return done
        if not replaced:
            backups.refuse_lost(plan, _nodes(done))
        if packed := done.pop("content", ""):
            taken = backups.save(plan, base64.b64decode(packed), now=now, replaced=replaced)
            shelf = backups.shelf(plan.site, replaced=replaced)
            done["changes"] += [f"remove the backup {name}" for name in shelf.prune(given["keep"])]
            done["backup"] = shelf.summary(taken)
        return done


def _nodes(found: Mapping[str, Any]) -> dict[str, backups.IronicNode]:
    return {identity: backups.IronicNode(**node) for identity, node in found["nodes"].items()}
