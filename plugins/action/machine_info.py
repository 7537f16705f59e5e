"""Action of module groundup.cloud.machine_info: what an Ironic knows of machines, from the controller."""

from __future__ import annotations

from typing import Any

from ansible.plugins.action import ActionBase
from ansible_collections.groundup.cloud.plugins.plugin_utils.actions import finish
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import load_site, make_plan

ARGUMENTS = {
    "name": {"type": "str"},
    "cloud": {"type": "str"},
    "site_file": {"type": "path"},
}
REACHED_BY = [("cloud", "site_file")]


class ActionModule(ActionBase):  # type: ignore[misc]  # ansible ships no types
    """Reads facts of machines."""

    _requires_connection = False

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Return facts of one machine or all."""
        result: dict[str, Any] = super().run(tmp, task_vars)
        _, given = self.validate_argument_spec(ARGUMENTS, mutually_exclusive=REACHED_BY, required_one_of=REACHED_BY)
        return finish(result, lambda: _facts(given))


def _facts(given: dict[str, Any]) -> dict[str, Any]:
    # Late: nobody else needs a cloud's client.
    from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud import baremetal

    plan = make_plan(load_site(given["site_file"])) if given["site_file"] else None
    with baremetal.opened(cloud=given["cloud"], plan=plan) as proxy:
        return {"changed": False, "machines": baremetal.facts(proxy, given["name"])}
