"""Action of module groundup.cloud.host: a failed host is set aside; a change of the network proves itself."""

from __future__ import annotations

import time
from functools import partial
from typing import Any

from ansible.errors import AnsibleConnectionFailure

from ..plugin_utils.actions import StepAction
from ..plugin_utils.hosts import spared
from ..plugin_utils.layers.layers import NETWORK_IN_TURN
from ..plugin_utils.paths import state_dir
from ..plugin_utils.pki import succession
from ..plugin_utils.supply.publish import snapshots

AFTER = 40.0  # seconds beyond the limit, to restore the former network and reach the host again


class ActionModule(StepAction):
    """Run the step on the host; keep a change of its network only if it answers over a new connection."""

    def work(self, given: dict[str, Any]) -> dict[str, Any]:
        """Return the step's result, or that of setting the host aside."""
        network = given["step"] == "network"
        if given["step"] == "certificates":
            given["authorities"] = given["authorities"] or succession.published(state_dir(given["site"]))
        if given["step"] == "converge" and (seed := given["packages_seed"]):
            seed["places"] = snapshots.places(self._snapshots(given["site"]), seed["places"])
        step = partial(self._network if network else super().work, given)
        # If the network of one host of a quorum fails, that of the next must not change.
        needed = network and NETWORK_IN_TURN in self.variables.get("group_names", ())
        return spared(step, self.variables, layer="host", spare=not self.changes.check and not needed)

    def _snapshots(self, site: str) -> snapshots.Record:
        """Return the record of the snapshots of packages; in a dry run as the seed's layer would leave it."""
        plan = self.variables.get("groundup_site") or {"supply": {"seed": None}}
        return snapshots.of_dry_run(self.variables, seed=plan["supply"]["seed"]) or snapshots.load(site)

    def _network(self, given: dict[str, Any]) -> dict[str, Any]:
        """Return the result once the change is kept or rolled back. Raises AnsibleConnectionFailure."""
        begun = super().work(given)
        if begun.get("failed") or not begun.get("pending"):
            return begun
        confirmed = self._confirmed(given, time.monotonic() + given["seconds"] + AFTER)
        kept: dict[str, Any] = {key: begun[key] for key in ("changes", "diff", "warnings") if key in begun}
        return {**confirmed, **kept, "changed": not confirmed.get("failed")}

    def _confirmed(self, given: dict[str, Any], deadline: float) -> dict[str, Any]:
        """Confirm over new connections until the change is kept or rolled back. Raises AnsibleConnectionFailure."""
        applied = False
        while True:
            time.sleep(1)
            # The former connection may hang; and if it survives the change, that proves nothing.
            self._connection.reset()
            last = time.monotonic() > deadline  # an attempt that began earlier may have hung since then
            try:
                answer = super().work({**given, "step": "confirm", "applied_before": applied})
            except AnsibleConnectionFailure:
                if last:
                    raise
                continue
            if last or not (answer.get("pending") or answer.get("unreachable")):
                return answer
            applied = bool(answer.get("applied"))
