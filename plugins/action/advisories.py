"""Action of module groundup.cloud.advisories: match packages of artifacts and hosts with advisories."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from ..plugin_utils import supply
from ..plugin_utils.actions import DocumentedAction


class ActionModule(DocumentedAction):
    """Hold artifacts and hosts against advisories."""

    def work(self, given: dict[str, Any]) -> dict[str, Any]:
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
