"""Panels of hosts, and of what is kept on the monitoring host of backups, certificates and drift."""

from __future__ import annotations

from ...module_utils._monitoring.exporter import ENDS
from ...module_utils._monitoring.texts import AGES
from .drift import with_drift, with_heal
from .drives import BAD_SECTORS, of_drives
from .machines import DISK
from .panels import DashboardRecord, PanelRecord, grown, most, rate

_MEMORY = 'node_memory_MemAvailable_bytes{job="node"} / node_memory_MemTotal_bytes{job="node"}'
_IDLE = rate("node_cpu_seconds_total", "node", ',mode="idle"')
_FULL = (
    f"100 * (1 - min without (mountpoint) (node_filesystem_avail_bytes{{{DISK}}} / "
    f"node_filesystem_size_bytes{{{DISK}}}))"
)


def _wire(direction: str, *kinds: str) -> str:
    parts = [rate(f"node_network_{direction}_{kind}_total", "node") for kind in kinds]
    return f"sum by (object) ({' + '.join(parts)})"


ANSWERING = PanelRecord(
    title="Hosts that answer", job="node", expr='sum(up{job="node"})', legend="hosts", alerts=("HostDown",),
    what="hosts whose node exporter answers; a step down is a lost host",
)  # fmt: skip
FILLING = PanelRecord(
    title="Fullest file systems", job="node", unit="%", expr=most(10, _FULL), legend="{object} {device}",
    alerts=("DiskFilling",), what="space in use; the ten fullest of all hosts",
)  # fmt: skip
RACK_PROCESSORS = PanelRecord(
    title="Processors by rack", job="node", unit="%", expr=f"100 * (1 - avg by (rack) ({_IDLE}))", legend="rack {rack}",
    what="processor time in use, all hosts of a rack together",
)  # fmt: skip
RACK_MEMORY = PanelRecord(
    title="Memory by rack", job="node", unit="%", legend="rack {rack}",
    expr='100 * (1 - sum by (rack) (node_memory_MemAvailable_bytes{job="node"}) / '
    'sum by (rack) (node_memory_MemTotal_bytes{job="node"}))',
    what="memory in use, all hosts of a rack together",
)  # fmt: skip

HOSTS = DashboardRecord(
    title="Hosts", what="Every machine: processors, memory, disks, network, clock; of many hosts the twenty highest",
    panels=(
        PanelRecord(
            title="Processors", job="node", unit="%", legend="{object}",
            expr=most(20, f"100 * (1 - avg by (object) ({_IDLE}))"), what="processor time in use",
        ),
        PanelRecord(
            title="Memory", job="node", unit="%", legend="{object}", expr=most(20, f"100 * (1 - {_MEMORY})"),
            what="memory that is neither free nor could be freed", alerts=("MemoryFilling",),
        ),
        PanelRecord(
            title="Waiting for memory", job="node", unit="%", legend="{object}",
            expr=most(20, f"100 * {rate('node_pressure_memory_waiting_seconds_total', 'node')}"),
            what="time in which something waited for memory: above a few percent the host has too little",
        ),
        PanelRecord(
            title="Killed for memory", job="node", legend="{object}", alerts=("KilledForMemory",),
            expr=most(20, grown("node_vmstat_oom_kill", "node")), what="processes that the kernel ended within an hour",
        ),
        FILLING,
        PanelRecord(
            title="Files that file systems can still take", job="node", unit="%", legend="{object} {device}",
            expr=f"bottomk(10, 100 * min without (mountpoint) (node_filesystem_files_free{{{DISK}}} / "
            f"(node_filesystem_files{{{DISK}}} > 0)))",
            what="free inodes; the ten with fewest: with none, nothing is written though space is left",
            alerts=("InodesFilling",),
        ),
        PanelRecord(
            title="Busy disks", job="node", unit="%", legend="{object} {device}",
            expr=most(20, f"100 * {rate('node_disk_io_time_seconds_total', 'node')}"),
            what="time in which a disk had work", alerts=("DiskStuck",),
        ),
        PanelRecord(
            title="Waiting for disks", job="node", unit="%", legend="{object}",
            expr=most(20, f"100 * {rate('node_pressure_io_waiting_seconds_total', 'node')}"),
            what="time in which something waited for a disk",
        ),
        PanelRecord(
            title="Wear of disks", job="node", unit="%", legend="{object} {device}", alerts=("DiskWorn",),
            expr=of_drives(most(20, 'smartctl_device_percentage_used{job="node"}')),
            what="writes behind them, of those that they are made for; some do not tell",
        ),
        PanelRecord(
            title="Bad sectors of disks", job="node", legend="{object} {device}", alerts=("DiskErrors",),
            expr=of_drives(most(20, BAD_SECTORS)), what="that they cannot read, have lost or replaced, in their life",
        ),
        PanelRecord(
            title="Received", job="node", unit="MiB/s", legend="{object}",
            expr=most(20, f"{_wire('receive', 'bytes')} / 2^20"),
            what="of all links; those of pods and instances are left out, bonds and bridges count beside their links",
        ),
        PanelRecord(
            title="Sent", job="node", unit="MiB/s", legend="{object}",
            expr=most(20, f"{_wire('transmit', 'bytes')} / 2^20"), what="of the same links",
        ),
        PanelRecord(
            title="Faults of links", job="node", unit="/s", legend="{object}", alerts=("LinkErrors",),
            expr=most(20, f"{_wire('receive', 'errs', 'drop')} + {_wire('transmit', 'errs', 'drop')}"),
            what="packets lost or broken: a cable, a port, or a queue that is too short",
        ),
        PanelRecord(
            title="TCP sent again", job="node", unit="/s", legend="{object}",
            expr=most(20, rate("node_netstat_Tcp_RetransSegs", "node")),
            what="segments that nobody acknowledged: the network loses packets, or another host is slow",
        ),
        PanelRecord(
            title="Clock", job="node", unit="ms", legend="{object}", alerts=("ClockOff",),
            expr=most(20, 'abs(1000 * node_timex_offset_seconds{job="node"})'),
            what="how far a clock is off; not of containers, nor with PTP",
        ),
        PanelRecord(
            title="Connections that are tracked", job="node", unit="%", legend="{object}",
            alerts=("ConnectionsFilling",),
            expr=most(20, '100 * node_nf_conntrack_entries{job="node"} / node_nf_conntrack_entries_limit{job="node"}'),
            what="of those that the kernel can track: at 100 it drops new ones",
        ),
        PanelRecord(
            title="Running since", job="node", unit="days", legend="{object}",
            expr='bottomk(20, (time() - node_boot_time_seconds{job="node"}) / 86400)',
            what="the twenty that booted last; a drop to 0 is a reboot",
        ),
    ),
)  # fmt: skip

UPKEEP = DashboardRecord(
    title="Backups, certificates, drift", what="What grows old unseen",
    panels=(
        PanelRecord(
            title="Age of the newest backup", job="node", unit="days", legend="{part}",
            alerts=("BackupOld", "BinaryLogsOld"),
            expr=f'(time() - max by (part) ({AGES}{{job="node"}})) / 86400',
            what="since each part was saved; about 20,000 days: never",
        ),
        PanelRecord(
            title="Certificates that end soonest", job="node", unit="days", legend="{object} {path}",
            expr=f'bottomk(20, (min by (object, path) ({ENDS}{{job="node"}}) - time()) / 86400)',
            alerts=("CertificateEnding",), what="days left, as the last run of the layer monitoring found them",
        ),
        PanelRecord(
            title="Differences from the site file", job="node", legend="{part}", alerts=("SiteDrifted",),
            expr=with_drift('max by (part) (groundup_drift_objects{job="node"})'),
            what="objects that drift found, by part",
        ),
        PanelRecord(
            title="Not compared with the site file", job="node", legend="{part}", alerts=("DriftUnknown",),
            expr=with_drift('max by (part) (groundup_drift_unknown{job="node"})'),
            what="objects that drift could not ask about",
        ),
        PanelRecord(
            title="Last look for drift", job="node", unit="days", legend="ago", alerts=("DriftOld",),
            expr=with_drift('(time() - max(groundup_drift_looked_timestamp_seconds{job="node"})) / 86400'),
            what="since the site was compared",
        ),
        PanelRecord(
            title="Last unattended run", job="node", unit="days", legend="{part}",
            alerts=("HealFailed", "HealRepeated"), expr=with_heal(
                '(time() - (max by (part) (groundup_heal_last_timestamp_seconds{job="node"}) > 0)) / 86400'
            ),
            what="since a layer mended what differed; one that never did has no line",
        ),
    ),
)  # fmt: skip
