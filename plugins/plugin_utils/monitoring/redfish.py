"""What management controllers tell of power supplies, fans and temperatures: whom to ask, and alerts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..plan.types import Plan
from .record import AlertRecord, last, named

_UP = "max by (machine) (redfish_up)"
_CELSIUS = "max by (machine, part) (redfish_temperature_celsius)"
_LIMIT = "max by (machine, part) (redfish_temperature_limit_celsius)"


def controllers(plan: Plan) -> dict[str, dict[str, Any]]:
    """Return how the controller of each machine is asked, by machine: those that speak Redfish, with an address.

    By the seed alone, whose Ironic has the logins anyway: with one, every machine can be taken over.
    """
    central = plan.hosts.get(plan.monitoring.host) if plan.monitoring else None
    if not central or "seed" not in central.roles:
        return {}
    return {
        host.name: {name: host.bmc[name] for name in ("address", "user", "credentials")}
        for host in plan.hosts.values()
        if host.bmc and host.bmc.get("address") and str(host.bmc["protocol"]).startswith("redfish")
    }


def _asked(expr: str | Callable[[Plan], str]) -> Callable[[Plan], str]:
    """Return ``expr`` of a site with controllers that can be asked."""
    return lambda plan: (expr if isinstance(expr, str) else expr(plan)) if controllers(plan) else ""


def _parts(expr: str) -> Callable[[Plan], str]:
    """Return parts as objects, each with its machine: a machine that does not answer hides none of them."""
    return _asked(f'label_join({expr}, "object", ": ", "machine", "part")')


def _ill(kind: str) -> Callable[[Plan], str]:
    return _parts(f'max by (machine, part) (redfish_part_ok{{kind="{kind}"}}) == 0')


REDFISH_ALERTS: dict[str, AlertRecord] = {
    "PowerSupplyFailed": AlertRecord(
        layer="host", job="node", severity="warning", after="2m",
        expr=_ill("power supply"),
        what="{part} of {machine} is not well, or has no power",
        why="with the next one, or with the line that the others are on, the machine is off",
        remedy="look at its cable and line first, then at the management controller's log; most can be exchanged "
        "while the machine runs",
    ),
    "FanFailed": AlertRecord(
        layer="host", job="node", severity="warning", after="2m",
        expr=_ill("fan"),
        what="{part} of {machine} is not well",
        why="the others turn faster; with the next one the machine grows hot, slows down and switches itself off",
        remedy="look at the management controller's log; drain the machine (groundup.cloud.drain) before it is opened",
    ),
    "TemperatureHigh": AlertRecord(
        layer="host", job="node", severity="critical", after="2m",
        # By its threshold, and where none is told, by the controller's judgement.
        expr=_parts(
            f"{_CELSIUS} >= on (machine, part) {_LIMIT} "
            'or max by (machine, part) (redfish_part_ok{kind="temperature"}) == 0'
        ),
        what="{part} of {machine} is too hot",
        why="the machine slows down, and switches itself off before it is damaged",
        remedy="look at its fans (FanFailed), its filters and the air of its rack; with the whole rack hot, at the "
        "room's cooling; drain it (groundup.cloud.drain)",
    ),
    "ControllerSilent": AlertRecord(
        layer="host", job="node", severity="warning", after="5m",
        # If none answers, that is one fault.
        expr=_asked(f"{named(f'{_UP} == 0', 'machine')} and on () max(redfish_up) == 1"),
        what="the management controller of {object} does not answer, or not as it should",
        why="its power supplies, fans and temperatures are unseen, and the machine cannot be switched from afar",
        remedy="read why: journalctl -n 50 -u groundup-redfish on the monitoring host; look at bmc.address, bmc.user "
        "and the password that bmc.credentials names; some controllers need a restart of their own",
    ),
    "ControllersSilent": AlertRecord(
        layer="host", job="node", severity="critical", after="5m", object="management controllers",
        expr=_asked("max(redfish_up) == 0"),
        what="no management controller answers",
        why="power supplies, fans and temperatures are unseen, and no machine can be switched from afar",
        remedy="look at the oob network, and at the monitoring host's way to it; then read why: journalctl -n 50 -u "
        "groundup-redfish there",
    ),
    "ControllersUnasked": AlertRecord(
        layer="monitoring", job="node", severity="warning", after="5m", object="management controllers",
        expr=_asked(lambda plan: f"time() - {last('groundup_redfish_looked_timestamp_seconds', plan)} > 900"),
        what="management controllers were not asked for a quarter of an hour",
        why="the alerts of power supplies, fans and temperatures stay as they are",
        remedy="on the monitoring host: journalctl -n 50 -u groundup-redfish; run groundup.cloud.monitoring",
    ),
}  # fmt: skip
