"""The same for what kernels tell of their machines: file systems, memory, connections, bonds, RAID, links, disks."""

from __future__ import annotations

from .cases import Case, Series

_GIB = 2**30


def _told(name: str, host: str, values: str, **labels: str) -> Series:
    inside = "".join(f',{label}="{value}"' for label, value in labels.items())
    return {f'{name}{{job="node",object="{host}"{inside}}}': values}


def _files(device: str, total: str, free: str, *, read_only: str = "0x30") -> Series:
    labels = {"device": device, "fstype": "ext4", "mountpoint": "/srv"}
    values = {"files": total, "files_free": free, "readonly": read_only}
    return _merged(*(_told(f"node_filesystem_{name}", "worker-1", one, **labels) for name, one in values.items()))


def _read_only(device: str, values: str) -> Series:
    labels = {"device": device, "fstype": "xfs", "mountpoint": "/data"}
    return _told("groundup_filesystem_readonly", "worker-1", values, **labels)


def _memory(host: str, *, total: float, free: float, pages: int = 0) -> Series:
    """Return what a host with ``total`` and ``free`` GiB tells; ``pages``: huge ones, of 1 GiB."""
    values = {"MemTotal_bytes": total * _GIB, "MemAvailable_bytes": free * _GIB}
    values |= {"HugePages_Total": pages, "Hugepagesize_bytes": _GIB}
    return _merged(*(_told(f"node_memory_{name}", host, f"{one:.0f}x30") for name, one in values.items()))


def _killed(host: str, values: str) -> Series:
    return _told("node_vmstat_oom_kill", host, values)


def _connections(host: str, limit: int, number: int) -> Series:
    name = "node_nf_conntrack_entries"
    return _told(name, host, f"{number}x30") | _told(f"{name}_limit", host, f"{limit}x30")


def _bond(host: str, up: str) -> Series:
    return _told("node_bonding_slaves", host, "2x30", master="bond0") | _told(
        "node_bonding_active", host, up, master="bond0"
    )


def _raid(device: str, *, active: str, failed: str = "0x30", required: str = "2x30") -> Series:
    return _told("node_md_disks_required", "storage-1", required, device=device) | _merged(
        *(
            _told("node_md_disks", "storage-1", values, device=device, state=state)
            for state, values in (("active", active), ("failed", failed), ("spare", "0x30"))
        )
    )


def _memory_errors(kind: str, host: str, values: str) -> Series:
    return _told(f"node_edac_{kind}_errors_total", host, values, controller="0")


def _link(device: str, direction: str, *, errors: float, packets: float) -> Series:
    """Return what a link tells that has so many a second."""
    return _merged(
        *(
            _told(f"node_network_{direction}_{kind}_total", "worker-1", f"0+{60 * one:.0f}x30", device=device)
            for kind, one in (("errs", errors), ("packets", packets))
        )
    )


def _disk(host: str, *, waiting: str, reads: str = "7x30", in_flight: str = "5x30") -> Series:
    """Return what a host with one disk tells; ``waiting``: the seconds for which something waited."""
    values = {"io_now": in_flight, "reads_completed_total": reads}
    values |= {f"{name}_total": "7x30" for name in ("writes_completed", "discards_completed", "flush_requests")}
    disk = (_told(f"node_disk_{name}", host, one, device="vda") for name, one in values.items())
    return _merged(*disk, _told("node_pressure_io_waiting_seconds_total", host, waiting))


def _merged(*series: Series) -> Series:
    return {name: values for one in series for name, values in one.items()}


def _case(alert: str, fires: Series, quiet: Series, *, host: str = "worker-1", **labels: str) -> Case:
    return Case(
        alert=alert, layer="host", fires=fires, quiet=quiet, labels={"job": "node", "object": host, **labels}
    )  # fmt: skip


KERNEL_CASES = (
    _case(  # a file system without inodes, and one that is mounted to be read
        "InodesFilling", _files("/dev/vdb", "100x30", "9x30"),
        _files("/dev/vdb", "100x30", "11x30") | _files("/dev/vdc", "0x30", "0x30")
        | _files("/dev/vdd", "100x30", "0x30", read_only="1x30"),
        device="/dev/vdb", fstype="ext4",
    ),
    _case(  # one that never took writes, and one that does again
        "FileSystemReadOnly", _read_only("/dev/vde", "0x5 1x30"),
        _read_only("/dev/vde", "1x30") | _read_only("/dev/vdf", "0x5 1x4 0x30"),
        device="/dev/vde", fstype="xfs", mountpoint="/data",
    ),
    _case(  # half a GiB is much beside huge pages, and three are enough for any host
        "MemoryFilling", _memory("worker-2", total=16, free=0.5),
        _memory("worker-2", total=256, free=0.5, pages=248) | _memory("worker-3", total=512, free=3), host="worker-2",
    ),
    _case(
        "MemoryFilling", _memory("hypervisor-1", total=256, free=0.3, pages=248),
        _memory("hypervisor-1", total=256, free=7, pages=248), host="hypervisor-1",
    ),
    _case(  # long ago, before it was asked first, and before it started anew
        "KilledForMemory", _killed("worker-1", "3x10 4x30"),
        _killed("worker-1", "3 4x30") | _killed("worker-2", "_x8 3x30") | _killed("worker-3", "5x10 0x30"),
    ),
    _case("KilledForMemory", _killed("worker-2", "5x8 0 1x30"), _killed("worker-2", "0x30"), host="worker-2"),
    _case(  # without a limit
        "ConnectionsFilling", _connections("worker-1", 100, 81),
        _connections("worker-1", 100, 79) | _connections("worker-2", 0, 500),
    ),
    _case("BondDegraded", _bond("worker-1", "2 1x30"), _bond("worker-1", "2x30"), master="bond0"),
    _case(  # it is being rebuilt, then it is; what only holds other arrays has no disks of its own
        "RaidDegraded", _raid("md0", active="1x30"),
        _raid("md0", active="1x5 2x30") | _raid("md127", active="0x30", required="0x30"),
        host="storage-1", device="md0",
    ),
    _case(  # its spare disk took over
        "RaidDegraded", _raid("md1", active="2x30", failed="0 1x30"), _raid("md1", active="2x30"), host="storage-1",
        device="md1",
    ),
    _case(
        "MemoryBroken", _memory_errors("uncorrectable", "worker-1", "0 1x30"),
        _memory_errors("uncorrectable", "worker-1", "0x30"), controller="0",
    ),
    _case(  # few, before it was asked first, and before it started anew
        "MemoryWearing", _memory_errors("correctable", "worker-1", "7+20x30"),
        _memory_errors("correctable", "worker-1", "0+5x30") | _memory_errors("correctable", "worker-2", "105x30")
        | _memory_errors("correctable", "worker-3", "5000x5 0x30"),
        controller="0",
    ),
    _case(  # one in two thousand, and one of a link that is hardly used; a tunnel without a way
        "LinkErrors", _link("eno1", "receive", errors=2, packets=1000),
        _link("eno1", "receive", errors=2, packets=4000) | _link("eno3", "receive", errors=0.5, packets=2)
        | _link("flannel.1", "transmit", errors=50, packets=100),
        device="eno1",
    ),
    _case(
        "LinkErrors", _link("eno2", "transmit", errors=2, packets=1000),
        _link("eno2", "transmit", errors=0, packets=0), device="eno2",
    ),
    _case(  # busy, with a request in flight that nobody waits for, and with nothing to do
        "DiskStuck", _disk("worker-1", waiting="0+60x30"),
        _disk("worker-1", waiting="0+60x30", reads="0+5x30") | _disk("worker-2", waiting="0+30x30")
        | _disk("worker-3", waiting="0+60x30", in_flight="5x11 0x30"),
        device="vda",
    ),
)  # fmt: skip
