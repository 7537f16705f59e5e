"""The clock, and what keeps it."""

from __future__ import annotations

from collections.abc import Iterator

from .model import Fault, Machine, Wanted

SKEW_WARNING, SKEW_ERROR = 15.0, 60.0  # seconds; the way from the controller to here is part of what is measured
# By their units: two packages have an ntpd.
_SERVICES = ("chrony.service", "systemd-timesyncd.service", "ntpsec.service", "openntpd.service")


def skew(machine: Machine, wanted: Wanted) -> Iterator[Fault]:
    """Yield a clock that differs from the controller's."""
    if wanted.controller_time is None:
        return
    ahead = machine.now - wanted.controller_time
    for limit, severity in ((SKEW_ERROR, "error"), (SKEW_WARNING, "warning")):
        if abs(ahead) > limit:
            yield Fault(
                "clock", severity, f"the clock differs from the controller's by more than {limit:g} s",
                f"{abs(ahead):.0f} s {'ahead' if ahead > 0 else 'behind'}",
                "start its time service, or set it by timedatectl set-time: certificates would not be valid",
            )  # fmt: skip
            return


def service(machine: Machine, _wanted: Wanted) -> Iterator[Fault]:
    """Yield a time service that is installed and will not start."""
    installed = [unit for unit in _SERVICES if machine.has(f"/usr/lib/systemd/system/{unit}")]
    wanted_by = ("sysinit.target.wants", "multi-user.target.wants")
    started = [
        unit for unit in installed if any(machine.has(f"/etc/systemd/system/{target}/{unit}") for target in wanted_by)
    ]
    if installed and not started and not machine.contained:
        yield Fault(
            "clock", "error", f"the time service {installed[0]} is installed and disabled", installed[0],
            f"systemctl enable --now {installed[0]} (systemctl unmask it first, where it is masked)",
        )  # fmt: skip
    elif len(started) > 1:
        yield Fault(
            "clock", "warning", f"several services set the clock: {', '.join(started)}", ", ".join(started),
            "keep one of them",
        )  # fmt: skip
