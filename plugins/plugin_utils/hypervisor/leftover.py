"""Hypervisors that the cloud has and the site file has not: the plan is pure, so the cloud is asked."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from ..layers.aside import Aside
from .joining import Ask

LAYER = "hypervisor"


def leftover(ask: Ask, *, hypervisors: Collection[str], machines: Collection[str]) -> list[Aside]:
    """Return who serves the cloud, or is half retired, without being in the site file; the verb is named.

    ``hypervisors``: the site file's, ``machines``: all of it. Raises UnansweredError.
    """
    services = ask("compute", "/os-services?binary=nova-compute")["services"]
    agents = ask("network", "/v2.0/agents")["agents"]
    found = {str(one["host"]): _serves(one) for one in services if one["host"] not in hypervisors}
    for agent in agents:
        name = str(agent.get("host"))
        if "OVN" in str(agent.get("agent_type")) and name not in machines and name not in found:
            found[name] = "Neutron has agents of it"
    return [
        Aside(
            host=name,
            layer=LAYER,
            reason=f"{why}, and it is no hypervisor of the site file",
            remedy=f"{retirement(name)}, or put it back into the site file",
        )
        for name, why in sorted(found.items())
    ]


def retirement(name: str) -> str:
    """Return the commands that take a hypervisor out of the cloud."""
    verbs = "ansible-playbook groundup.cloud."
    return f"{verbs}drain -e drain_machine={name}, then {verbs}retire -e retire_machine={name}"


def _serves(service: Mapping[str, Any]) -> str:
    disabled = service.get("status") == "disabled"
    reason = f" ({service.get('disabled_reason') or 'no reason'})" if disabled else ""
    return f"its nova-compute is {service.get('state')} and {service.get('status')}{reason}"
