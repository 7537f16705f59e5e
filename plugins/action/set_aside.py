"""Action of module groundup.cloud.set_aside: runs on the controller, once for it and once for each host set aside."""

from __future__ import annotations

from typing import Any

from ..plugin_utils.actions import DocumentedAction
from ..plugin_utils.layers import aside
from ..plugin_utils.layers.layers import ABSENT


class ActionModule(DocumentedAction):
    """Compares hosts set aside with the limits; ends as unreachable on such a host."""

    def work(self, given: dict[str, Any]) -> dict[str, Any]:
        """Return nothing; a failure when too many hosts of a group are set aside."""
        variables = self.variables
        if why := _why(variables):
            # Ansible leaves it out from now on, counts it in the recap, and ends with exit code 4.
            return {"unreachable": True, "msg": f"set aside in layer {why['layer']}: {why['reason']}"}
        others = variables["hostvars"]
        away = [(name, others[name]["groundup_host"]["group"]) for name in variables["groups"][ABSENT]]
        limits = {group: int(limit) for group, limit in given["limits"].items()}
        if groups := aside.over(away, limits):
            found = (_why(others[name]) for name, _ in away)
            return {"failed": True, "msg": _stopped(groups, limits, [row for row in found if row])}
        return {}


def _why(variables: Any) -> dict[str, str]:
    """Return why the host of these variables is set aside; nothing when it is not."""
    return dict(variables.get(aside.FACT) or variables.get("ansible_facts", {}).get(aside.FACT) or {})


def _stopped(groups: dict[str, list[str]], limits: dict[str, int], rows: list[dict[str, str]]) -> str:
    lines = [
        f"{len(names)} of {group} set aside, at most {limits.get(group, 0)} may be: {', '.join(names)}"
        for group, names in groups.items()
    ]
    fields = ", ".join(f"machines.{group}.max_unavailable" for group in groups)
    remedy = f"  remedy: mend the hosts, then run this again. The limit is {fields} of the site file"
    return "\n".join([*lines, remedy, aside.table(rows)])
