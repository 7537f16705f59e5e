"""Identify the holder of a Lease: a process of a controller, unique also after its machine restarts."""

from __future__ import annotations

import socket
from pathlib import Path

from .types import Object


def identity(pid: int) -> str:
    """Return the holder identity of process ``pid`` of this machine in a Lease."""
    return f"{_this_machine()}:{pid}:{_started(pid)}"


def holder(lease: Object) -> str:
    """Return the holder of the lease as text for the operator."""
    machine, pid, _ = _parts(lease)
    host = machine.partition("/")[0]
    return f"process {pid} on {host}" if pid else host


def abandoned(lease: Object) -> bool:
    """Return whether the lease has no holder, or a dead process of this machine."""
    machine, pid, started = _parts(lease)
    return not machine or (machine == _this_machine() and _started(int(pid)) != started)


def _parts(lease: Object) -> tuple[str, str, str]:
    """Return the holder's machine, process id and start; all empty without a holder."""
    parts = str((lease.get("spec") or {}).get("holderIdentity") or "").split(":")
    return (parts[0], parts[1], parts[2]) if len(parts) >= 3 else (":".join(parts), "", "")


def _this_machine() -> str:
    """Return host name, boot id and PID namespace: only processes with the same ones can be compared."""
    boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    return f"{socket.gethostname()}/{boot}/{Path('/proc/self/ns/pid').stat().st_ino}"


def _started(pid: int) -> str:
    """Return a process's start in the kernel's ticks, "" when it is dead."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if fields[0] in "ZX" else fields[19]
