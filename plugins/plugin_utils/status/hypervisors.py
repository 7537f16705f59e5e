"""Rows of what Nova and Neutron say of hypervisors."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

from ..cloud import leftover
from ..cloud.compute_host import EVACUATE
from ..cloud.connection import Ask
from ..plan.types import Plan
from .rows import StatusRow, run_layer


def hypervisor_rows(plan: Plan, ask: Ask) -> list[StatusRow]:
    """Return a row a hypervisor (Nova, OVN's chassis, instances), then those lacking here. Raises GroundupError."""
    ask = functools.cache(ask)
    ours = [name for name, host in plan.hosts.items() if "hypervisor" in host.roles]
    services = {str(one["host"]): one for one in ask("compute", "/os-services?binary=nova-compute")["services"]}
    listed = ask("compute", "/os-hypervisors/detail")["hypervisors"]
    guests = {str(one["service"]["host"]): int(one.get("running_vms") or 0) for one in listed}
    agents = [one for one in ask("network", "/v2.0/agents")["agents"] if "OVN" in str(one.get("agent_type"))]
    seen = leftover.look(ask, hypervisors=ours, machines=plan.hosts)
    undrain = {one.host: one.remedy for one in seen.disabled}
    return [
        *(
            _row(
                name, services.get(name), [one for one in agents if one.get("host") == name], guests.get(name, 0),
                undrain.get(name, f"openstack compute service set --enable {name} nova-compute"),
            )
            for name in ours
        ),
        *(StatusRow(name=one.host, state="warning", what=one.reason, remedy=one.remedy) for one in seen.leftover),
    ]  # fmt: skip


def _row(
    name: str, service: Mapping[str, Any] | None, agents: Sequence[Mapping[str, Any]], instances: int, enable: str
) -> StatusRow:
    if service is None:
        what = "no nova-compute has reported yet"
        return StatusRow(name=name, state="not made", what=what, remedy=run_layer("hypervisor"))
    faults = [f"not alive: {one['agent_type']}" for one in agents if not one.get("alive")]
    chassis = any("Controller" in str(one["agent_type"]) for one in agents)
    faults += [] if chassis else ["OVN has no chassis of it"]
    state, enabled = str(service["state"]), service["status"] == "enabled"
    reason = str(service.get("disabled_reason") or "")
    what = f"{state}, {service['status']}{f' ({reason})' if reason else ''}, {instances} instances"
    broken = bool(faults) or state != "up"
    return StatusRow(
        name=name,
        state="broken" if broken else "ok" if enabled else "warning",
        what="; ".join([what, *faults]),
        remedy="" if enabled and not broken else _remedy(broken=broken, reason=reason, enable=enable),
        facts={
            "state": state, "enabled": enabled, "reason": reason, "instances": instances, "chassis": chassis,
            "agents_down": [str(one["agent_type"]) for one in agents if not one.get("alive")],
        },
    )  # fmt: skip


def _remedy(*, broken: bool, reason: str, enable: str) -> str:
    """Return what takes a hypervisor back. Nova has an evacuated one down until its undrain, also when it is back."""
    if reason == EVACUATE:
        return f"{'when it is back: ' if broken else ''}{enable}"
    return f"{run_layer('hypervisor')}, tag verify" if broken else enable
