"""What monitoring has on a host: its files and units, the ports it closes to others, and how all of it leaves again."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from .._base import files
from .._base.changes import Changes
from .guard import Guard, admit
from .units import off

HOME = Path("/etc/groundup/monitoring")
UNITS = Path("/etc/systemd/system")
LIBRARY = Path("/usr/local/lib/groundup")
PROGRAMS = LIBRARY / "monitoring"
TEXTS = Path("/var/lib/prometheus/node-exporter")  # Debian's directory for metrics in text files
BACKUPS = TEXTS / "groundup-backups.prom"  # on the monitoring host
DRIFT = TEXTS / "groundup-drift.prom"  # on the monitoring host
FAILURE = TEXTS / "groundup-hypervisor-failure.prom"  # on the monitoring host
CAPACITY = TEXTS / "groundup-capacity.prom"  # on the monitoring host
CERTIFICATES = TEXTS / "groundup-certificates.prom"
HOST_METRICS = TEXTS / "groundup-host.prom"  # a link to this, in memory: a disk that takes no writes is told
HOST_TOLD = Path("/run/groundup-host-metrics/host.prom")
HOST_PROGRAM = LIBRARY / "host-metrics/host-metrics.pyz"  # writes it
HOST_SERVICE, HOST_TIMER = "groundup-host-metrics.service", "groundup-host-metrics.timer"
EXPORTER, STORE, RULES, ALERTS = (
    "prometheus-node-exporter.service", "groundup-metrics.service", "groundup-alert-rules.service",
    "prometheus-alertmanager.service",
)  # fmt: skip
LOG_STORE, LOG_DOOR, LOG_RULES = (
    "groundup-logs.service", "groundup-logs-door.service", "groundup-log-rules.service",
)  # fmt: skip
LOG_AGENT, LOG_JOURNAL, LOG_BEAT, LOG_BEAT_TIMER = (
    "groundup-log-agent.service", "groundup-log-journal.service", "groundup-log-beat.service",
    "groundup-log-beat.timer",
)  # fmt: skip
LOGS = (LOG_DOOR, LOG_RULES, LOG_STORE)  # of the monitoring host alone
LOG_SENDERS = (LOG_BEAT_TIMER, LOG_BEAT, LOG_JOURNAL, LOG_AGENT)  # of every host
LOG_PROGRAMS = LIBRARY / "logs"
LOG_BUFFER = Path("/var/lib/groundup-log-agent")  # what is not written yet, and how far files and journal were read
METRICS_AGENT = "groundup-metrics-agent.service"  # scrapes in place of the store, and writes to two
CENTRAL = (RULES, METRICS_AGENT, STORE, ALERTS, *LOGS)  # of the monitoring host alone; who asks first
EXPORTER_PORT, EDGE_PORT, CEPH_PORT = PORTS = (9100, 9101, 9283)  # node exporter, HAProxy's metrics, Ceph's
CENTRAL_PORTS = (8428, 8880, 9093)  # on loopback: store, rules, Alertmanager
METRICS_AGENT_PORT = 8429  # on loopback
LOG_STORE_PORT, LOG_RULES_PORT, LOG_AGENT_PORT = (9428, 8881, 9429)  # on loopback
DOOR_PORT = 9430  # where hosts write logs
PROOF = "AlertingWorks"  # the alert that always fires, and is sent to nobody
GUARD = Guard(
    table="groundup_monitoring",
    what="Who reads metrics",
    rules=Path("/etc/groundup/monitoring.nft"),
    unit=UNITS / "groundup-monitoring-ports.service",
    hook="input",
    before=(EXPORTER, "haproxy.service"),
)


@dataclass(frozen=True, slots=True)
class TimedProgram:
    """A program that a timer starts, and that writes metrics in a text file."""

    name: str
    unit: str

    @property
    def program(self) -> Path:
        return LIBRARY / self.name / f"{self.name}.pyz"

    @property
    def units(self) -> tuple[str, str]:
        """Service and timer."""
        return self.unit, f"{self.unit.removesuffix('.service')}.timer"

    @property
    def metrics(self) -> Path:
        return TEXTS / f"groundup-{self.name}.prom"


@dataclass(frozen=True, slots=True)
class AskingProgram(TimedProgram):
    """One of the monitoring host."""

    told: str  # its file of what it is told of the site

    @property
    def settings(self) -> Path:
        """What it is told of the site, for root alone."""
        return HOME / "central" / self.name / self.told


REDFISH, WORKLOADS = ASKING = (
    AskingProgram("redfish", "groundup-redfish.service", "machines.json"),
    AskingProgram("workloads", "groundup-workloads.service", "api.json"),
)
SMART = TimedProgram("smart", "groundup-smart.service")  # of hosts with drives
SMART_TOLD = Path("/run/groundup-smart/smart.prom")  # what its metrics are a link to, as HOST_METRICS is


def unit_file(name: str) -> Path:
    """Return the file with our settings of the unit ``name``: the whole unit, or a drop-in of Debian's."""
    return UNITS / name if name.startswith("groundup-") else UNITS / f"{name}.d" / "groundup.conf"


def rules(readers: Iterable[str], *, writers: Iterable[str] = ()) -> str:
    """Return the nftables table that admits ``readers`` (addresses) alone to what tells metrics.

    ``writers``: networks that alone may write logs here.
    """
    own = sorted(set(writers))
    admitted = [*admit(sorted(set(readers)), ports=PORTS), *admit(own, ports=[DOOR_PORT])]
    return GUARD.text(admitted, ports=[*PORTS, *([DOOR_PORT] if own else [])])


def remove(changes: Changes, *, central_only: bool = False) -> None:
    """Stop what monitoring runs here, and remove its files; what is kept, and packages, stay. Raises GroundupError.

    ``central_only``: of the monitoring host's part.
    """
    whole = [] if central_only else [HOME, HOST_PROGRAM.parent, SMART.program.parent, LOG_PROGRAMS, LOG_BUFFER]
    every = (EXPORTER, HOST_TIMER, HOST_SERVICE, *reversed(SMART.units), *LOG_SENDERS)
    for one in ASKING:
        remove_asking(changes, one)
    names = [*CENTRAL, *([] if central_only else every)]
    _remove(changes, names, [HOME / "central", PROGRAMS, *whole])
    for path in (BACKUPS, DRIFT, FAILURE, CAPACITY):  # they would grow old
        files.remove(changes, path)
    if not central_only:
        for path in (CERTIFICATES, HOST_METRICS, HOST_TOLD, SMART.metrics, SMART_TOLD):
            files.remove(changes, path)
        GUARD.remove(changes)


def remove_logs(changes: Changes) -> None:
    """Stop what writes and keeps logs here, and remove its files; kept logs and packages stay. Raises GroundupError."""
    own = [HOME / "log-agent", *(HOME / "central" / name for name in ("door", "door-tls", "log-rules"))]
    _remove(changes, [*LOGS, *LOG_SENDERS], [*own, LOG_PROGRAMS, LOG_BUFFER])


def remove_metrics_agent(changes: Changes) -> None:
    """Stop what writes metrics to another store, and remove its files; what waits stays. Raises GroundupError."""
    _remove(changes, [METRICS_AGENT], [HOME / "central/remote-write"])


def remove_asking(changes: Changes, one: AskingProgram) -> None:
    """Stop ``one`` here, and remove its files. Raises GroundupError."""
    _remove(changes, reversed(one.units), [one.settings.parent, one.program.parent])
    files.remove(changes, one.metrics)  # it would grow old


def _remove(changes: Changes, units: Iterable[str], places: Iterable[Path]) -> None:
    names = [name for name in units if unit_file(name).exists()]
    off(changes, names)
    for place in places:
        if place.is_dir() and changes.add(f"remove {place}"):
            shutil.rmtree(place)
    for name in names:  # last: a killed run is finished by the next
        files.remove(changes, unit_file(name))
