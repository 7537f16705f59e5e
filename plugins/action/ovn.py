"""Action of module groundup.cloud.ovn: the controller knows the site's clusters, and records new ones."""

from __future__ import annotations

from typing import Any

from ..plugin_utils.actions import StepAction
from ..plugin_utils.ovn import record
from ..plugin_utils.ovn.clusters import decide


class ActionModule(StepAction):
    """Run the step on the host with the clusters of the record; decide about new ones here."""

    def work(self, given: dict[str, Any]) -> dict[str, Any]:
        site = given["site"]
        known = record.known(site)
        if given["step"] == "decide":
            return {"changed": False, "create": decide(given["answers"], hosts=given["hosts"], known=known)}
        done = super().work({**given, "clusters": known})
        if not done.get("failed") and not self.changes.check:
            record.keep(site, done.get("databases") or {})
        return done
