"""Action of module groundup.cloud.supply: artifacts of the lock, on the controller."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any, ClassVar

from ..plugin_utils import supply
from ..plugin_utils.actions import DocumentedAction
from ..plugin_utils.progress import TERMINAL
from ..plugin_utils.site_proxy import fetching


class ActionModule(DocumentedAction):
    """Build or fetch artifacts that the cache lacks, or hold artifacts and hosts against advisories."""

    RULES: ClassVar = {"required_if": [("step", "advisories", ("files",))]}

    def work(self, given: dict[str, Any]) -> dict[str, Any]:
        """Return the step's result."""
        if given["step"] == "advisories":
            return self._advisories(given)
        with fetching(self.variables.get("groundup_site")):
            return self._build(given)

    def _build(self, given: dict[str, Any]) -> dict[str, Any]:
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

    def _advisories(self, given: dict[str, Any]) -> dict[str, Any]:
        """Return what is affected, failed when something is or is not known."""
        from ..plugin_utils.supply.advisories.report import report  # late: only this needs its libraries

        files = [Path(name).expanduser() for name in given["files"]]
        found = report(supply.load_lock(), files, names=given["names"], hosts=given["hosts"], silent=given["silent"])
        return {
            "changed": False,
            "failed": found.code != 0,
            "affected": found.rows(),
            "unknown": [asdict(one) for one in found.unknown],
            "msg": found.text(),
        }
