"""Who holds a Lease: a process of a controller, told from every other one, also after its machine restarted."""

from __future__ import annotations

import socket
from pathlib import Path

from .types import Object


def identity(pid: int) -> str:
    """Return what a Lease says of process ``pid`` of this machine when that holds it."""
    return f"{_this_machine()}:{pid}:{_started(pid)}"


def holder(lease: Object) -> str:
    """Return who holds the lease, for people."""
    machine, pid, _ = _parts(lease)
    host = machine.partition("/")[0]
    return f"process {pid} on {host}" if pid else host


def abandoned(lease: Object) -> bool:
    """Return whether nobody holds the lease, or a dead process of this machine does."""
    machine, pid, started = _parts(lease)
    return not machine or (machine == _this_machine() and _started(int(pid)) != started)


def _parts(lease: Object) -> tuple[str, str, str]:
    """Return machine, process and its start of the holder; all empty when nobody holds it."""
    parts = str((lease.get("spec") or {}).get("holderIdentity") or "").split(":")
    return (parts[0], parts[1], parts[2]) if len(parts) >= 3 else (":".join(parts), "", "")


def _this_machine() -> str:
    """Return what tells this machine, as it runs now, from any other: processes are compared on it alone."""
    boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    return f"{socket.gethostname()}/{boot}/{Path('/proc/self/ns/pid').stat().st_ino}"


def _started(pid: int) -> str:
    """Return when a process was started, in the kernel's ticks; "" when it is dead."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if fields[0] in "ZX" else fields[19]
