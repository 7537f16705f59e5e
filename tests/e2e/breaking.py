"""Faults of hosts that must be told: what is broken, how it is mended, and the alert that is to come."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Fault:
    """What is broken, how it is mended, and the alert and object that must be told; ``holds``: seconds it waits for."""

    alert: str
    object: str
    host: str
    breaks: str
    mends: str
    holds: float = 45.0


def stopped(alert: str, of: str, host: str, unit: str, *, holds: float = 45.0) -> Fault:
    """Return the fault that a unit does not run."""
    return Fault(alert, of, host, f"systemctl stop {unit}", f"systemctl start {unit}", holds)


def frozen(alert: str, host: str, program: str, *, of: str = "") -> Fault:
    """Return the fault that a program of a host does nothing; ``of``: the object, where it is not the host."""
    return Fault(alert, of or host, host, f"pkill -STOP -x {program}", f"pkill -CONT -x {program}")


def crashing(host: str, unit: str) -> Fault:
    """Return the fault that a unit, which systemd starts again, ends every 12 seconds: told after the fourth time.

    A busy machine has each second scrape see one (30 s); it is judged every 30 s, and must hold for a minute.
    """
    often = f"while sleep 12; do systemctl kill --signal KILL {unit}; done"
    breaks = f"systemd-run --quiet --unit eyes-crashes sh -c '{often}'"
    return Fault("UnitRestarts", host, host, breaks, "systemctl stop eyes-crashes", holds=4 * 30 + 30 + 60)
