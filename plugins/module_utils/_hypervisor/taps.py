"""Guests' taps on a switch in user space, which may switch them off while libvirt switches them on.

os-vif adds the port first. When libvirt makes the tap, ovs-vswitchd (`datapath: netdev`) and libvirt set its flags at
the same moment, each by reading and writing all of them (SIOCGIFFLAGS, SIOCSIFFLAGS): what one adds, the other may take
away, and a tap that is promiscuous and not up gives its guest no network.
"""

from __future__ import annotations

from pathlib import Path

from .._base.files import HEADER
from .._host.units import Unit

PLACE = Path("/etc/libvirt/hooks/qemu.d/groundup-taps")

# By libvirt for each guest: its name, the operation, its definition as input. Other than 0 would end the guest.
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
    """Have ``daemon``, libvirt's, switch on what a switch in user space may have switched off."""
    if datapath == "netdev":
        daemon.place(PLACE, HOOK, mode=0o755)
