"""Actions on hosts, in a run that may go on without some of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any

from ansible.errors import AnsibleConnectionFailure

from .kube.nodes import SeenNodes
from .layers import aside


def spared(
    work: Callable[[], dict[str, Any]], variables: Mapping[str, Any], *, layer: str, spare: bool
) -> dict[str, Any]:
    """Return the result of ``work``. With ``spare``, a host that fails or is unreachable is set aside instead."""
    host = str(variables.get("inventory_hostname", "this host"))
    try:
        result = work()
    except AnsibleConnectionFailure as error:
        found = aside.unreachable(host, layer, error)
        # Not as unreachable: exit code 4 is for a run that came to its end.
        return aside.result(found) if spare else {"failed": True, "msg": f"{host} is {found.reason}"}
    if spare and result.get("failed"):
        return aside.result(aside.failed(host, layer, result), result)
    return result


def of_nodes(seen: SeenNodes) -> dict[str, Any]:
    """Return the task result about Nodes that are not Ready, and Nodes that are not in the site file."""
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
