"""Two machines on a wire that carries less than this side believes, in namespaces of networks; needs root."""

from __future__ import annotations

import subprocess
import sys

# 1400 bytes of 1500, as behind a switch that was forgotten. 192.0.2.1 is here, 192.0.2.2 at the other end.
_WIRE = """
set -eu
ip link set lo up
ip link add near type veth peer name far
unshare --net sleep 600 & other=$!
while [ "$(readlink /proc/$other/ns/net)" = "$(readlink /proc/self/ns/net)" ]; do :; done
trap 'kill $other' EXIT
ip link set far netns $other
ip addr add 192.0.2.1/24 dev near; ip link set near mtu 1500 up
nsenter --net=/proc/$other/ns/net sh -euc 'ip addr add 192.0.2.2/24 dev far; ip link set far mtu 1400 up'
"$1" -c "$2"
"""


def said_on_a_wire(script: str) -> str:
    """Return what a Python script prints on this side."""
    command = ["unshare", "--net", "sh", "-c", _WIRE, "sh", sys.executable, script]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout
