"""What monitoring has on a host: its files and units, the ports it closes to others, and how all of it leaves again."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path

from .._base import files
from .._base.changes import Changes
from .guard import Guard, admit
from .units import off

HOME = Path("/etc/groundup/monitoring")
UNITS = Path("/etc/systemd/system")
PROGRAMS = Path("/usr/local/lib/groundup/monitoring")
TEXTS = Path("/var/lib/prometheus/node-exporter")  # Debian's directory for metrics in text files
BACKUPS = TEXTS / "groundup-backups.prom"  # on the monitoring host
DRIFT = TEXTS / "groundup-drift.prom"  # on the monitoring host
CERTIFICATES = TEXTS / "groundup-certificates.prom"
EXPORTER, STORE, RULES, ALERTS = (
    "prometheus-node-exporter.service", "groundup-metrics.service", "groundup-alert-rules.service",
    "prometheus-alertmanager.service",
)  # fmt: skip
CENTRAL = (RULES, STORE, ALERTS)  # of the monitoring host alone; who asks first
EXPORTER_PORT, EDGE_PORT, CEPH_PORT = PORTS = (9100, 9101, 9283)  # node exporter, HAProxy's metrics, Ceph's
CENTRAL_PORTS = (8428, 8880, 9093)  # on loopback: store, rules, Alertmanager
PROOF = "AlertingWorks"  # the alert that always fires, and is sent to nobody
GUARD = Guard(
    table="groundup_monitoring",
    what="Who reads metrics",
    rules=Path("/etc/groundup/monitoring.nft"),
    unit=UNITS / "groundup-monitoring-ports.service",
    hook="input",
    before=(EXPORTER, "haproxy.service"),
)


def unit_file(name: str) -> Path:
    """Return the file with our settings of the unit ``name``: the whole unit, or a drop-in of Debian's."""
    return UNITS / name if name in (STORE, RULES) else UNITS / f"{name}.d" / "groundup.conf"


def rules(readers: Iterable[str]) -> str:
    """Return the nftables table that admits ``readers`` (addresses) alone to what tells metrics."""
    return GUARD.text([*admit(sorted(set(readers)), ports=PORTS)], ports=PORTS)


def remove(changes: Changes, *, central_only: bool = False) -> None:
    """Stop what monitoring runs here, and remove its files; kept metrics and packages stay. Raises GroundupError.

    ``central_only``: of the monitoring host's part.
    """
    names = [name for name in (*CENTRAL, *([] if central_only else [EXPORTER])) if unit_file(name).exists()]
    off(changes, names)
    for place in [HOME / "central", PROGRAMS, *([] if central_only else [HOME])]:
        if place.is_dir() and changes.add(f"remove {place}"):
            shutil.rmtree(place)
    files.remove(changes, BACKUPS)  # it would grow old
    files.remove(changes, DRIFT)
    if not central_only:
        files.remove(changes, CERTIFICATES)
        GUARD.remove(changes)
    for name in names:  # last: a killed run is finished by the next
        files.remove(changes, unit_file(name))
