"""Action of module groundup.cloud.supply: build or fetch artifacts of the lock on the controller."""

from __future__ import annotations

from typing import Any

from ..plugin_utils import supply
from ..plugin_utils.actions import DocumentedAction
from ..plugin_utils.progress import TERMINAL


class ActionModule(DocumentedAction):
    """Build or fetch artifacts that the cache lacks."""

    def work(self, given: dict[str, Any]) -> dict[str, Any]:
        """Return the artifacts, and which were built."""
        names, source, rebuild = given["names"], given["source"], given["rebuild"]
        if self._task.check_mode and (pending := supply.missing(names, source=source, rebuild=rebuild)):
            return {"changed": True, "built": list(pending), "msg": f"would be made: {', '.join(pending)}"}
        artifacts = supply.ensure(
            names, progress=self._display.display, draw=self.draw if TERMINAL else None, source=source,
            rebuild=rebuild,
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
