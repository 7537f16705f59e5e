"""How an action ends in a run that may go on without some hosts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any

from ansible.errors import AnsibleConnectionFailure
from ansible.plugins.action import ActionBase

from .kube.nodes import SeenNodes
from .layers import aside


class HostAction(ActionBase):  # type: ignore[misc]  # ansible ships no types
    """An action of a module on a host: one that fails or is unreachable is set aside, but in a dry run."""

    LAYER: str
    NEEDED = ""  # group of hosts without which the run does not go on

    def converge(self, variables: dict[str, Any]) -> dict[str, Any]:
        """Return what the module says."""
        done: dict[str, Any] = self._execute_module(task_vars=variables)
        return done

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Return the module's result, or why the host is set aside."""
        result: dict[str, Any] = super().run(tmp, task_vars)
        variables = task_vars or {}
        spare = not self._task.check_mode and self.NEEDED not in variables.get("group_names", ())
        return result | spared(lambda: self.converge(variables), variables, layer=self.LAYER, spare=spare)


def spared(
    work: Callable[[], dict[str, Any]], variables: Mapping[str, Any], *, layer: str, spare: bool
) -> dict[str, Any]:
    """Return the result of ``work``; when the host fails or is unreachable and to ``spare``, set it aside instead."""
    host = str(variables.get("inventory_hostname", "this host"))
    try:
        result = work()
    except AnsibleConnectionFailure as error:
        found = aside.unreachable(host, layer, error)
        # Not as unreachable: exit code 4 says that a run came to its end.
        return aside.result(found) if spare else {"failed": True, "msg": f"{host} is {found.reason}"}
    if spare and result.get("failed"):
        return aside.result(aside.failed(host, layer, result), result)
    return result


def of_nodes(seen: SeenNodes) -> dict[str, Any]:
    """Return what an action says of nodes that are not Ready, and of Nodes that are no hosts of the site."""
    away = [
        aside.Aside(
            host=name,
            layer="kubernetes",
            reason=f"its Node is not Ready: {why}",
            remedy=f"see journalctl -u kubelet -u containerd on {name}; if it is gone for good: {aside.removal(name)}",
        )
        for name, why in sorted(seen.away.items())
    ]
    leftover = [
        aside.Aside(
            host=name,
            layer="kubernetes",
            reason=f"its Node is {'Ready' if ready else 'not Ready'}, and it is not in the site file",
            remedy=f"{aside.removal(name)}, or put it back into the site file",
        )
        for name, ready in sorted(seen.leftover.items())
    ]
    return {
        "aside": [asdict(one) for one in away],
        "leftover": [asdict(one) for one in leftover],
        "warnings": [one.advice for one in (*away, *leftover)],
    }
