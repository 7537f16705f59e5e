"""Action of module groundup.cloud.seed_backup: keeps on the controller what the seed reads, and gives it back."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from ansible.plugins.action import ActionBase
from ansible_collections.groundup.cloud.plugins.plugin_utils.actions import finish
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal import backups
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan, load_site, make_plan

CODES = ["overwrite", "outdated"]  # `backups.CODES`; a test holds the two together
ARGUMENTS: dict[str, dict[str, Any]] = {
    "site_file": {"type": "path", "required": True},
    "step": {"type": "str", "required": True, "choices": ["take", "verify", "check", "restore"]},
    "keep": {"type": "int", "default": 14},
    "days": {"type": "float", "default": 2.0},
    "source": {"type": "str", "default": "newest"},
    "force": {"type": "list", "elements": "str", "default": [], "choices": CODES},
    # Filled in below, whatever is given.
    "port": {"type": "int", "default": 0},
    "content": {"type": "str", "default": "", "no_log": True},
}


class ActionModule(ActionBase):  # type: ignore[misc]  # ansible ships no types
    """Does one step, with the module on the seed where its state is asked."""

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Return what the step found or did."""
        result: dict[str, Any] = super().run(tmp, task_vars)
        _, given = self.validate_argument_spec(ARGUMENTS)
        return finish(result, lambda: self._step(given, task_vars or {}))

    def _step(self, given: dict[str, Any], variables: dict[str, Any]) -> dict[str, Any]:
        plan = make_plan(load_site(given["site_file"]))
        if given["step"] == "verify":
            backup = backups.verify(plan.site, days=given["days"])
            return {"changed": False, "backup": backups.shelf(plan.site).summary(backup)}
        if given["step"] == "take":
            return self._take(given, plan, variables)
        return self._restore(given, plan, variables, go=given["step"] == "restore")

    def _restore(self, given: dict[str, Any], plan: Plan, variables: dict[str, Any], *, go: bool) -> dict[str, Any]:
        backup, found, data = backups.load(plan.site, given["source"])
        now = self._on_seed(given, variables, step="check")
        if now.get("failed"):
            return now
        there = _nodes(now)
        backups.refuse(backup, found, plan, schema=now["schema"], there=there, force=given["force"])
        if go:
            # Just before: nothing is replaced that was not saved. Beside the others, so that it is never the newest.
            before = self._take(given, plan, variables, replaced=True) if there else {}
            if before.get("failed"):
                return before
            port = plan.metal.api_inside if plan.metal else 0
            content = base64.b64encode(data).decode()
            now = self._on_seed(given, variables, step="restore", content=content, source=backup.name, port=port)
            if now.get("failed"):
                return now
            now["changes"] = [*before.get("changes", ()), *now["changes"]]
        warnings = backups.warnings(backup, found, plan)
        return now | {"backup": backups.shelf(plan.site).summary(backup), "warnings": warnings}

    def _take(
        self, given: dict[str, Any], plan: Plan, variables: dict[str, Any], *, replaced: bool = False
    ) -> dict[str, Any]:
        now = datetime.now(UTC)  # what journals say later came after it
        done = self._on_seed(given, variables, step="take")
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

    def _on_seed(self, given: dict[str, Any], variables: dict[str, Any], **own: Any) -> dict[str, Any]:
        arguments = {"site_file": given["site_file"], **own}
        done: dict[str, Any] = self._execute_module(module_args=arguments, task_vars=variables)
        done.pop("invocation", None)  # it holds all of the seed's state
        return done


def _nodes(found: Mapping[str, Any]) -> dict[str, backups.Node]:
    return {identity: backups.Node(**node) for identity, node in found["nodes"].items()}
