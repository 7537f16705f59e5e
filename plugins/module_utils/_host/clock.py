"""Set a host's time zone and time servers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from .._base import files
from .._base.changes import Changes
from .._base.errors import GroundupError
from .._base.run import attempt
from .units import Unit, properties

ZONES = Path("/usr/share/zoneinfo")
LOCALTIME = Path("/etc/localtime")
TIMEZONE = Path("/etc/timezone")
CHRONY = "chrony"  # among the substitutes of the host layer
CHRONYD = Path("/usr/sbin/chronyd")
TIMESYNCD = Path("/usr/lib/systemd/systemd-timesyncd")
NTPD = Path("/usr/sbin/ntpd")
UNITS = Path("/etc/systemd/system")
NTPCTL = Path("/usr/sbin/ntpctl")  # of OpenNTPD, whose daemon has ntpsec's name
NTPD_RS = Path("/usr/bin/ntp-daemon")
# linuxptp, PTPd, sfptpd; the kernel does not call such a clock synchronised
PTP = ("phc2sys*.service", "timemaster*.service", "ptpd*.service", "sfptpd*.service")
CHRONY_SOURCES = Path("/etc/chrony/sources.d/groundup.sources")
TIMESYNCD_SERVERS = Path("/etc/systemd/timesyncd.conf.d/groundup.conf")


def timezone(changes: Changes, name: str) -> None:
    """Set the host's time zone to ``name``. Raises GroundupError for an unknown one."""
    if not (ZONES / name).is_file():
        raise GroundupError(
            f"the host knows no time zone {name}",
            where=str(ZONES / name),
            why="the file that describes it is missing",
            remedy="write today's name into hosts.timezone of the site file: Debian moved old ones to tzdata-legacy",
        )
    files.link(changes, LOCALTIME, str(ZONES / name))
    files.place(changes, TIMEZONE, f"{name}\n")


def by_ptp() -> str:
    """Return the enabled unit that sets the clock from one of PTP; empty without one.

    Beside an enabled service of NTP, it hands the host's time on to its network cards.
    """
    if any(list(UNITS.glob(f"*.wants/{unit}")) for _, unit, _ in _services()):
        return ""
    return next((path.name for name in PTP for path in sorted(UNITS.glob(f"*.wants/{name}"))), "")


def _services() -> list[tuple[Path, str, str]]:
    """Return program, unit and configuration of each time service of NTP."""
    ntpd = ("openntpd", "/etc/openntpd/ntpd.conf") if NTPCTL.exists() else ("ntpsec", "/etc/ntpsec/ntp.conf")
    return [
        (CHRONYD, "chrony.service", str(CHRONY_SOURCES)),
        (TIMESYNCD, "systemd-timesyncd.service", str(TIMESYNCD_SERVERS)),
        (NTPD, f"{ntpd[0]}.service", ntpd[1]),
        (NTPD_RS, "ntpd-rs.service", "/etc/ntpd-rs/ntp.toml"),
    ]


def lacking() -> list[str]:
    """Return the package to install on a host without a time service."""
    return [] if by_ptp() or any(program.exists() for program, _, _ in _services()) else [CHRONY]


def servers(changes: Changes, names: Sequence[str]) -> None:
    """Configure ``names`` in the host's time service; with no names, it keeps its own servers.

    ntpsec, OpenNTPD and ntpd-rs are not configured, only warned about: their files belong to their administrator.
    """
    if unit := by_ptp():
        if names:
            changes.warnings.append(f"{unit} sets the clock by PTP, and hosts.ntp_servers is not used on this host")
    elif CHRONYD.exists():
        text = "".join(f"server {name} iburst\n" for name in names)
        _configure(changes, "chrony.service", CHRONY_SOURCES, text)
    elif TIMESYNCD.exists():
        text = f"[Time]\nNTP={' '.join(names)}\n" if names else ""
        _configure(changes, "systemd-timesyncd.service", TIMESYNCD_SERVERS, text)
    elif names:
        for program, unit, file in _services():
            if program.exists():
                changes.warnings.append(
                    f"{unit.removesuffix('.service')} keeps the time, and hosts.ntp_servers does not reach it: write "
                    f"{', '.join(names)} into {file}, or install chrony in its place"
                )


def _configure(changes: Changes, name: str, path: Path, text: str) -> None:
    unit = Unit(changes, name)
    unit.generate(path, text)
    unit.refreshed()


def state() -> dict[str, object]:
    """Return the host's time service, and whether its clock is synchronised; None: the host does not control its clock.

    None applies where systemd skips the unit by its own condition: a system container uses the clock of the machine
    below, and may not set it.
    """
    if unit := by_ptp():
        state = properties(unit, "ActiveState").get("ActiveState")
        return {"service": unit, "synchronised": state == "active", "why": f"{unit} is {state}"}
    for path, unit, _ in _services():
        if path.exists():
            found = properties(unit, "ActiveState", "ConditionResult", "ConditionTimestampMonotonic")
            skipped = found.get("ConditionResult") == "no" and found.get("ConditionTimestampMonotonic") != "0"
            if found.get("ActiveState") != "active" and skipped:
                return {"service": unit, "synchronised": None, "why": "the machine below keeps the clock"}
            shown = attempt(["timedatectl", "show", "--property", "NTPSynchronized", "--value"]).stdout.strip()
            return {"service": unit, "synchronised": shown == "yes", "why": f"{unit} is {found.get('ActiveState')}"}
    return {"service": None, "synchronised": False, "why": "no time service is installed"}
