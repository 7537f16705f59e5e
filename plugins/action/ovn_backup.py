"""Action of module groundup.cloud.ovn_backup: store backups on the controller, and send them to the host to restore."""

from __future__ import annotations

import base64
from typing import Any

from ..plugin_utils.actions import DocumentedAction
from ..plugin_utils.backup import ovn as backups
from ..plugin_utils.ovn import record
from ..plugin_utils.services.neutron import sync_command


class ActionModule(DocumentedAction):
    """Run one step, with the module on the host where it needs the database."""

    _requires_connection = True

    def work(self, given: dict[str, Any]) -> dict[str, Any]:
        """Return the step's result."""
        site, step = given["site"], given["step"]
        if step == "verify":
            newest = backups.verify(site, days=given["days"])
            return {"changed": False, "backup": backups.shelf(site).summary(newest)}
        if step == "take":
            return self._take(given)
        backup, data = backups.load(site, given["source"])
        found = self._on_host(given, step="check")
        if not found.get("leader"):
            return found
        backups.refuse(
            backup, site=site, cluster=found["cluster"], schema=found["schema"], counts=found["counts"],
            force=given["force"],
        )  # fmt: skip
        if step == "restore":
            # Back up from the same member just before, so that everything replaced was saved.
            before = self._take(given | {"keep": 0})
            if not before.get("leader"):
                return before
            found = self._on_host(given, step=step, content=base64.b64encode(data).decode())
            found["changes"] = [*before.get("changes", ()), *found.get("changes", ())]
        sync = [sync_command(given["namespace"], mode) for mode in ("log", "repair")]
        return found | {"backup": backups.shelf(site).summary(backup), "sync": sync}

    def _take(self, given: dict[str, Any]) -> dict[str, Any]:
        done = self._on_host(given, step="take")
        if snapshot := done.pop("content", ""):
            taken = backups.save(given["site"], base64.b64decode(snapshot), cluster=done["cluster"])
            shelf = backups.shelf(given["site"])
            done["changes"] += [f"remove the backup {name}" for name in shelf.prune(given["keep"])]
            done["backup"] = shelf.summary(taken)
        return done

    def _on_host(self, given: dict[str, Any], *, step: str, content: str = "") -> dict[str, Any]:
        site = given["site"]
        return self.on_host(site=site, name=given["name"], step=step, content=content, clusters=record.known(site))
