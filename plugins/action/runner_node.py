"""Action of module groundup.cloud.runner_node: send the collection to the seed, and store the runner's public key."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

from ..module_utils._base import files
from ..plugin_utils.actions import DocumentedAction
from ..plugin_utils.metal.delegated import PUBLIC_KEY
from ..plugin_utils.metal.package import packed
from ..plugin_utils.paths import state_dir
from ..plugin_utils.plan import load_site


class ActionModule(DocumentedAction):
    """Send the collection if the seed lacks it."""

    _requires_connection = True

    def work(self, given: dict[str, Any]) -> dict[str, Any]:
        """Return the module's result."""
        site_file = Path(given["site_file"])
        digest, content = ("", b"") if given["verify"] else packed()
        own = {"collection": digest, "site_text": site_file.read_text(encoding="utf-8")}
        done = self.on_host(**given | own)
        if done.get("lacking"):
            done = self.on_host(**given | own | {"content": base64.b64encode(content).decode()})
        if key := done.get("public_key"):
            path = state_dir(load_site(site_file).site) / PUBLIC_KEY
            files.place(self.changes, path, f"{key}\n")
            done["changed"] = done.get("changed") or bool(self.changes.done)
        return done
