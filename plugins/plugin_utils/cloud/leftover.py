"""Find hypervisors that are in the cloud but not in the site file: the plan is pure, so the cloud is asked."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..layers.aside import Aside
from .compute_host import DISABLING
from .connection import Ask

_LAYER = "hypervisor"
_PLAYBOOK = "ansible-playbook groundup.cloud."


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """Differences between the cloud's hypervisors and the site file."""

    leftover: Sequence[Aside]  # in the cloud, not in the site file
    disabled: Sequence[Aside]  # in the site file, disabled by a verb


def look(ask: Ask, *, hypervisors: Collection[str], machines: Collection[str]) -> Seen:
    """Return hypervisors missing from the site file, and those of it that a verb disabled; each with its remedy.

    ``hypervisors``: names in the site file; ``machines``: all its hosts. Raises what ``ask`` raises.
    """
    services = ask("compute", "/os-services?binary=nova-compute")["services"]
    agents = ask("network", "/v2.0/agents")["agents"]
    found = {str(one["host"]): _state(one) for one in services if one["host"] not in hypervisors}
    for agent in agents:
        name = str(agent.get("host"))
        if "OVN" in str(agent.get("agent_type")) and name not in machines:
            found.setdefault(name, "Neutron has agents of it")
    leftover = [
        Aside(
            host=name,
            layer=_LAYER,
            reason=f"{why}, and it is no hypervisor of the site file",
            remedy=f"{_PLAYBOOK}drain -e machine={name}, then {_PLAYBOOK}retire -e machine={name}, "
            "or put it back into the site file",
        )
        for name, why in sorted(found.items())
    ]
    return Seen(leftover=leftover, disabled=list(_disabled(services, hypervisors)))


def _disabled(services: Sequence[Mapping[str, Any]], hypervisors: Collection[str]) -> Iterator[Aside]:
    for one in services:
        if one["host"] in hypervisors and one.get("disabled_reason") in DISABLING:
            yield Aside(
                host=str(one["host"]),
                layer=_LAYER,
                reason=f"{_state(one)}: no instance comes to it",
                remedy=f"{_PLAYBOOK}undrain -e machine={one['host']}",
            )


def _state(service: Mapping[str, Any]) -> str:
    disabled = service.get("status") == "disabled"
    reason = f" by {service.get('disabled_reason') or 'nobody who gave a reason'}" if disabled else ""
    return f"its nova-compute is {service.get('state')} and {service.get('status')}{reason}"
