"""Action of module groundup.cloud.supply: artifacts of the lock, made on the controller."""

from __future__ import annotations

from typing import Any

from ansible.plugins.action import ActionBase
from ansible_collections.groundup.cloud.plugins.plugin_utils import supply
from ansible_collections.groundup.cloud.plugins.plugin_utils.actions import finish
from ansible_collections.groundup.cloud.plugins.plugin_utils.progress import TERMINAL

ARGUMENTS = {
    "names": {"type": "list", "elements": "str"},
    "source": {"type": "str", "choices": ["build", "upstream"], "default": "build"},
    "rebuild": {"type": "bool", "default": False},
}


class ActionModule(ActionBase):  # type: ignore[misc]  # ansible ships no types
    """Makes what the cache lacks."""

    _requires_connection = False

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Return the artifacts, and what was built."""
        result: dict[str, Any] = super().run(tmp, task_vars)
        _, arguments = self.validate_argument_spec(ARGUMENTS)
        return finish(result, lambda: self._supply(arguments))

    def _supply(self, arguments: dict[str, Any]) -> dict[str, Any]:
        names, source = arguments["names"], arguments["source"]
        if self._task.check_mode and (pending := supply.missing(names, source=source, rebuild=arguments["rebuild"])):
            return {"changed": True, "built": list(pending), "msg": f"would be made: {', '.join(pending)}"}
        artifacts = supply.ensure(
            names, progress=self._display.display, draw=self._draw if TERMINAL else None, source=source,
            rebuild=arguments["rebuild"],
        )  # fmt: skip
        built = [artifact.name for artifact in artifacts.values() if artifact.built]
        return {
            "changed": bool(built),
            "built": built,
            "artifacts": {
                a.name: {"version": a.version, "kind": a.kind, "sha256": a.sha256, "path": str(a.path)}
                for a in artifacts.values()
            },
            "msg": f"{len(artifacts)} artifacts, {len(built)} made now",
        }

    def _draw(self, text: str) -> None:
        self._display.display(text, screen_only=True, newline=False)
