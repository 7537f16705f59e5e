"""Action of module groundup.cloud.ironic: send the collection to the seed, and store the runner's public key."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

from ..module_utils._base import files
from ..plugin_utils.actions import StepAction
from ..plugin_utils.metal.delegated import PUBLIC_KEY
from ..plugin_utils.metal.package import packed
from ..plugin_utils.paths import state_dir
from ..plugin_utils.plan import load_site


class ActionModule(StepAction):
    """Run the step on the seed; send the collection with the step of the runner, if the seed lacks it."""

    def work(self, given: dict[str, Any]) -> dict[str, Any]:
        if given["step"] != "runner":
            return super().work(given)
        site_file, (digest, content) = Path(given["site_file"]), packed()
        site = load_site(site_file)
        own = {
            "collection": digest, "content": None, "site_text": site_file.read_text(encoding="utf-8"),
            "site_files": {name: file.text for name, file in site.files.items()},
        }  # fmt: skip
        done = super().work(given | own)
        if done.get("lacking"):
            done = super().work(given | own | {"content": base64.b64encode(content).decode()})
        if key := done.get("public_key"):
            path = state_dir(site.site) / PUBLIC_KEY
            files.place(self.changes, path, f"{key}\n")
            done["changed"] = done.get("changed") or bool(self.changes.done)
        return done
