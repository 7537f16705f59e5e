"""Detect rogue DHCP servers on the provisioning network: broadcast a DISCOVER and collect the answers, by scapy."""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

from .._base.errors import GroundupError
from .._base.run import run
from . import netboot

WAIT = 5.0  # seconds: many servers ping an address for three before they offer it
# In a process of its own: scapy is not in the module's Python, but among the seed's programs.
_ASK = """
import json, secrets, sys
from scapy.config import conf
from scapy.layers.dhcp import BOOTP, DHCP
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from scapy.sendrecv import srp
interface, mac, wait = sys.argv[1], sys.argv[2], float(sys.argv[3])
conf.checkIPaddr = False  # answers are broadcast
bootp = BOOTP(chaddr=bytes.fromhex(mac.replace(":", "")), xid=secrets.randbits(32), flags=0x8000)
packet = Ether(src=mac, dst="ff:ff:ff:ff:ff:ff") / IP(src="0.0.0.0", dst="255.255.255.255")
packet /= UDP(sport=68, dport=67) / bootp / DHCP(options=[("message-type", "discover"), "end"])
answers, _ = srp(packet, iface=interface, multi=True, timeout=wait, verbose=False)
print(json.dumps([[answer[IP].src, answer[Ether].src] for _, answer in answers if IP in answer]))
"""


def refuse(interface: str, address: str) -> None:
    """Raise GroundupError when a DHCP server other than the seed's (``address``) answers on ``interface``."""
    if found := others(interface, address):
        raise GroundupError(
            f"another DHCP server answers: {', '.join(found)}",
            where=f"{interface}, the network provisioning",
            why="machines that boot there get addresses and programs of somebody else",
            remedy="find its port by the MAC address in the switches' tables and shut it; have the switches drop DHCP "
            "answers of all ports but the seed's (DHCP snooping)",
        )


def others(interface: str, address: str) -> list[str]:
    """Return IP and MAC address of each other DHCP server. Raises GroundupError when the query fails."""
    own = Path(f"/sys/class/net/{interface}/address").read_text(encoding="ascii").strip()
    with tempfile.TemporaryDirectory() as room:  # scapy writes files to its home
        environment = {
            "PYTHONPATH": str(netboot.PROGRAMS / "python"),
            "HOME": room,
            "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
        }
        said = run(
            [sys.executable, "-c", _ASK, interface, own, f"{WAIT:g}"],
            environment=environment,
            why="nobody knows whether another DHCP server is on the network provisioning",
            remedy=f"ip -details link show {interface}",
        )
    return sorted({f"{ip} ({mac})" for ip, mac in json.loads(said.splitlines()[-1]) if (ip, mac) != (address, own)})
