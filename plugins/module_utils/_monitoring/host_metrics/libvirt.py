"""How many domains libvirt has in each state: by one call of its own client, which may only read."""

from __future__ import annotations

import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from .ovn import RETIRED
from .samples import PATIENCE, Sample

HYPERVISOR = Path("/etc/systemd/system/nova-compute.service")  # of hypervisors alone
# By libvirt's number; the last one is all of later versions.
STATES = ("none", "running", "blocked", "paused", "shutdown", "shutoff", "crashed", "suspended", "unknown")
_ASK = ("virsh", "--readonly", "--connect", "qemu:///system", "domstats", "--state", "--nowait", "--raw")


def domains() -> Iterator[Sample]:
    """Yield whether libvirt answers, and its number of domains in each state; of a hypervisor."""
    if not HYPERVISOR.exists() or RETIRED.exists():
        return
    try:
        said = subprocess.run(_ASK, capture_output=True, text=True, timeout=PATIENCE, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        yield Sample("libvirt_up", 0)
        return
    yield Sample("libvirt_up", 1)
    found = counted(said)
    yield from (Sample("libvirt_domains", found[state], {"state": state}) for state in STATES)


def counted(said: str) -> Counter[str]:
    """Return the number of domains in each state, of what virsh says."""
    lines = (line.strip().partition("=") for line in said.splitlines())
    numbers = [int(value) for name, _, value in lines if name == "state.state"]
    return Counter(STATES[min(number, len(STATES) - 1)] for number in numbers)
