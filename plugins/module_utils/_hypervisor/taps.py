"""Bring up guests' taps with the userspace switch, which may reset the UP flag that libvirt sets.

os-vif adds the port first. When libvirt creates the tap, ovs-vswitchd (`datapath: netdev`) and libvirt set its flags at
the same time, each by reading and writing all flags (SIOCGIFFLAGS, SIOCSIFFLAGS), so that either may undo the other.
A tap that is promiscuous but not up gives its guest no network.
"""

from __future__ import annotations

from pathlib import Path

from .._base.files import HEADER
from .._host.units import Unit

PLACE = Path("/etc/libvirt/hooks/qemu.d/groundup-taps")

# Arguments from libvirt: the guest's name and the operation; input: its definition. An exit code but 0 stops the guest.
HOOK = f"""#!/usr/bin/python3
{HEADER}\
# Switches on the taps of a guest that has started, once the switch has done with them.
import subprocess
import sys
from xml.etree import ElementTree

if sys.argv[2] == "started":
    for target in ElementTree.parse(sys.stdin).iterfind("devices/interface[@type='ethernet']/target"):
        tap = target.get("dev")
        subprocess.run(["ovs-vsctl", "--timeout=10", "wait-until", "Interface", tap, "ofport>0"])
        subprocess.run(["ip", "link", "set", "dev", tap, "up"])
"""


def switched_on(daemon: Unit, *, datapath: str) -> None:
    """Install the hook of ``daemon``, libvirt's unit, that brings taps up, where the switch is in user space."""
    if datapath == "netdev":
        daemon.place(PLACE, HOOK, mode=0o755)
