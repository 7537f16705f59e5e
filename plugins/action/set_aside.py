"""Action of module groundup.cloud.set_aside: runs on the controller, for localhost and for each host set aside."""

from __future__ import annotations

from typing import Any

from ..plugin_utils.actions import DocumentedAction, ended
from ..plugin_utils.layers import aside
from ..plugin_utils.layers.enough import SuccessCriteria, lacking
from ..plugin_utils.layers.layers import ABSENT
from ..plugin_utils.run_mode import dry_run


class ActionModule(DocumentedAction):
    """Compare hosts set aside with the limits; end as unreachable on such a host."""

    def work(self, given: dict[str, Any]) -> dict[str, Any]:
        """Return nothing, or a failure if too many hosts of a group are set aside or too few serve."""
        variables = self.variables
        if row := _why(variables):
            # Ansible skips it from now on, counts it in the recap, and exits with code 4.
            return ended(f"set aside in layer {row['layer']}: {row['reason']}", unknown=True)
        if self.changes.check or dry_run(variables):  # hosts of a lab that were not made yet
            return {}
        others = variables["hostvars"]
        away = {name: others[name]["groundup_host"] for name in variables["groups"][ABSENT]}
        why = {name: _why(others[name]) for name in away}
        limits = {group: int(limit) for group, limit in given["limits"].items()}
        failed = [(name, host["group"]) for name, host in away.items() if not why[name].get("pending")]
        lines = _over(aside.over(failed, limits), limits)
        for group, needed in given["enough"].items():
            gone = {name: host["rack"] for name, host in away.items() if host["group"] == group}
            lines += [f"{line} (machines.{group}.enough)" for line in lacking(group, SuccessCriteria(**needed), gone)]
        if lines:
            remedy = "  remedy: mend the hosts, then run this again; the limits are the site file's"
            return ended("\n".join([*lines, remedy]), broken=True) | {"aside": [row for row in why.values() if row]}
        return {}


def _why(variables: Any) -> dict[str, Any]:
    """Return why the host with these variables is set aside; empty if it is not."""
    return dict(variables.get(aside.FACT) or variables.get("ansible_facts", {}).get(aside.FACT) or {})


def _over(groups: dict[str, list[str]], limits: dict[str, int]) -> list[str]:
    return [
        f"{len(names)} of {group} set aside, at most {limits.get(group, 0)} may be "
        f"(machines.{group}.max_unavailable of the site file): {', '.join(names)}"
        for group, names in groups.items()
    ]
