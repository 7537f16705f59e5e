"""Alerts of machines by their kernels' word: file systems, memory, connections, bonds, RAID, links and disks.

A container tells these of the machine that it runs on. What compares with earlier values does it by the lowest of them
(`grown`): a counter that begins anew at a start, or is seen for the first time, is no fault.
"""

from __future__ import annotations

from .record import AlertRecord

DISK = 'job="node",fstype!~"tmpfs|ramfs|overlay|squashfs"'
_READ_ONLY = "groundup_filesystem_readonly"
_AVAILABLE = 'node_memory_MemAvailable_bytes{job="node"}'
# Those of the default size: both exporters tell no others. Where a site reserves others too, 2 GiB bound it.
_RESERVED = 'node_memory_HugePages_Total{job="node"} * node_memory_Hugepagesize_bytes{job="node"}'
_RAID = 'node_md_disks{job="node",state='
# A tunnel's errors are packets that it has no way for. Of pods and instances the exporter tells nothing.
_LINK = 'job="node",device!~"(cilium|flannel|genev|gre|ip6|kube|sit|tun|vxlan|wg|wireguard).*"'
_COMPLETED = ("reads_completed", "writes_completed", "discards_completed", "flush_requests")


def _scarce(left: str, whole: str) -> str:
    """Return file systems of which less than a tenth is left: once each, wherever they are mounted."""
    # Nothing grows on one that is mounted to be read.
    share = f"min without (mountpoint) (node_filesystem_{left}{{{DISK}}} / (node_filesystem_{whole}{{{DISK}}} > 0))"
    return f"{share} < 0.1 unless min without (mountpoint) (node_filesystem_readonly{{{DISK}}}) == 1"


def grown(counter: str, span: str, *, by: int = 0) -> str:
    """Return counters that grew by more than ``by`` within ``span``."""
    # The first part spares the store the second one: of most hosts there is nothing.
    counter += "" if "{" in counter else '{job="node"}'
    return f"({counter} > {by}) - min_over_time({counter}[{span}]) > {by}"


def _rate(metric: str, only: str = 'job="node"') -> str:
    return f"rate(node_{metric}{{{only}}}[5m])"


def _broken(direction: str) -> str:
    """Return links with broken packets: one a second, and one in a thousand."""
    errors, packets = (_rate(f"network_{direction}_{kind}_total", _LINK) for kind in ("errs", "packets"))
    return f"({errors} > 1) / {packets} > 0.001"


MACHINES: dict[str, AlertRecord] = {
    "DiskFilling": AlertRecord(
        layer="host", job="node", severity="warning", after="10m",
        expr=_scarce("avail_bytes", "size_bytes"),
        what="the file system on {device} of {object} has less than a tenth free",
        why="a full disk stops etcd, databases and instances; a node evicts its pods before that",
        remedy="find what grows (findmnt DEVICE, du -xh --max-depth=2): remove it, or give the file system more room",
    ),
    "InodesFilling": AlertRecord(
        layer="host", job="node", severity="warning", after="10m",
        expr=_scarce("files_free", "files"),
        what="the file system on {device} of {object} has less than a tenth of its inodes free",
        why="without a free inode no file is made, though space is left: etcd, databases and pods stop",
        remedy="find the many files (findmnt DEVICE, du --inodes -x --max-depth=2): remove them, or move them to a "
        "file system that was made with more inodes",
    ),
    "FileSystemReadOnly": AlertRecord(
        layer="host", job="node", severity="critical", after="1m",
        # One that never was writable is meant to be so.
        expr=f"{_READ_ONLY} == 1 and min_over_time({_READ_ONLY}[7d]) == 0",
        what="the file system on {device} of {object} ({mountpoint}) takes no writes any more",
        why="the kernel does this when it finds the file system or its disk damaged: what writes there fails",
        remedy="journalctl -k names the error; if its disk fails, drain the host (groundup.cloud.drain) and exchange "
        "it; else unmount it and run fsck, or start the host anew, which does",
    ),
    "MemoryFilling": AlertRecord(
        layer="host", job="node", severity="warning", after="10m",
        # A part alone is no measure: of a large hypervisor's memory, instances may have all but the host's own.
        expr=f'{_AVAILABLE} < 0.05 * (node_memory_MemTotal_bytes{{job="node"}} - {_RESERVED}) < 2 * 2^30',
        what="{object} has little memory left: less than a twentieth beside its huge pages, and less than 2 GiB",
        why="programs become slow, then the kernel ends the largest: an instance, a database, an OSD",
        remedy="ps -eo rss,args --sort -rss names the largest; of a hypervisor, move instances, or reserve more for "
        "the host (compute.reserved_memory_gb)",
    ),
    "KilledForMemory": AlertRecord(
        layer="host", job="node", severity="warning", after="1m",
        expr=grown("node_vmstat_oom_kill", "10m"),
        what="the kernel of {object} ended a process for want of memory, within ten minutes",
        why="what it did is lost or starts anew; if memory still lacks, it is not the last one",
        remedy="journalctl -k -g oom-kill names it: CONSTRAINT_MEMCG is a pod or unit at its own limit, which needs a "
        "higher one; CONSTRAINT_NONE is a host with too little (MemoryFilling)",
    ),
    "ConnectionsFilling": AlertRecord(
        layer="host", job="node", severity="warning", after="2m",
        # A limit of 0 is none.
        expr='node_nf_conntrack_entries{job="node"} / (node_nf_conntrack_entries_limit{job="node"} > 0) > 0.8',
        what="{object} tracks more than four fifths of the connections that its kernel can",
        why="at the limit new connections are dropped, those of pods, instances and the API alike",
        remedy="conntrack -L, or /proc/net/nf_conntrack, shows whose they are: stop who floods, or raise "
        "net.netfilter.nf_conntrack_max",
    ),
    "BondDegraded": AlertRecord(
        layer="host", job="node", severity="warning", after="2m",
        expr='node_bonding_active{job="node"} < node_bonding_slaves{job="node"}',
        what="a link of {master} of {object} is down",
        why="the others carry its load; with the last one the host is cut off from these networks",
        remedy="cat /proc/net/bonding/NAME names it: look at its cable, its port of the switch and its module",
    ),
    "RaidDegraded": AlertRecord(
        layer="host", job="node", severity="warning", after="1m",
        expr=f'max without (state) ({_RAID}"failed"}} > 0 or '
        f'node_md_disks_required{{job="node"}} > ignoring (state) {_RAID}"active"}})',
        what="{device} of {object} has a failed or missing disk, or is not rebuilt yet",
        why="until it is whole again, one more lost disk may cost all that is on it",
        remedy="cat /proc/mdstat shows the disk, or how far it is rebuilt: mdadm /dev/NAME --remove the failed one, "
        "exchange it, and --add the new one",
    ),
    "MemoryBroken": AlertRecord(
        layer="host", job="node", severity="critical", after="1m",
        expr='node_edac_uncorrectable_errors_total{job="node"} > 0',
        what="memory of {object} (controller {controller}) had errors that could not be corrected, since its start",
        why="what was in it is wrong or lost; the next one may stop the machine, or damage data unseen",
        remedy="drain the host (groundup.cloud.drain); journalctl -k -g EDAC, or the management controller's log, "
        "names the module: exchange it",
    ),
    "MemoryWearing": AlertRecord(
        layer="host", job="node", severity="warning", after="5m",
        expr=grown("node_edac_correctable_errors_total", "1d", by=100),
        what="memory of {object} (controller {controller}) had more than 100 corrected errors within a day",
        why="nothing is lost yet; a module that errs so often soon has errors that cannot be corrected",
        remedy="journalctl -k -g EDAC, or the management controller's log, names the module: exchange it with the "
        "next maintenance (groundup.cloud.drain)",
    ),
    "LinkErrors": AlertRecord(
        layer="host", job="node", severity="warning", after="10m",
        expr=f"{_broken('receive')} or {_broken('transmit')}",
        what="of the packets of the link {device} of {object}, one in a thousand or more is broken",
        why="what is sent again makes storage and instances slow; a cable or module that fails comes to this first",
        remedy="ip -s -s link show NAME and ethtool -S NAME tell which errors: exchange cable and module, then try "
        "another port of the switch",
    ),
    "DiskStuck": AlertRecord(
        layer="host", job="node", severity="critical", after="1m",
        # However busy it is, a disk completes something; and a kernel that counts wrong lets nobody wait.
        expr=f'min_over_time(node_disk_io_now{{job="node"}}[5m]) > 0 '
        f"and {' + '.join(_rate(f'disk_{one}_total') for one in _COMPLETED)} == 0 "
        f"and on (object) {_rate('pressure_io_waiting_seconds_total')} > 0.9",
        what="the disk {device} of {object} has requests and has completed none for five minutes",
        why="what reads or writes there waits, and cannot be ended",
        remedy="journalctl -k names the fault of disk, controller or path; a disk of Ceph: "
        "groundup.cloud.storage_replace; else drain the host (groundup.cloud.drain) and switch it off and on",
    ),
}  # fmt: skip
