"""A black hole on the network that tunnels cross: a wire that loses large packets and carries small ones."""

from __future__ import annotations

import json
import os

import pytest
from ansible_collections.groundup.cloud.tests.unit.wire import said_on_a_wire

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="namespaces of networks need root")

PROVE = """
import json
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.module_utils._base.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.module_utils._hypervisor import mtu

mtu.PATIENCE = 0.0
said = {}
for name, neighbour, size in (("hole", 2, 1500), ("fits", 2, 1400), ("silent", 3, 1500)):
    changes = Changes(check=False)
    underlay = {"source": "192.0.2.1", "name": "hypervisor-2", "neighbour": f"192.0.2.{neighbour}", "mtu": size}
    try:
        mtu.prove(changes, underlay, host="hypervisor-1")
        said[name] = changes.warnings
    except GroundupError as error:
        said[name] = str(error)
print(json.dumps(said))
"""


def test_a_black_hole_fails_the_host_with_both_ends_the_size_and_the_command_that_shows_it() -> None:
    said = json.loads(said_on_a_wire(PROVE))
    assert "a packet of 1500 bytes to hypervisor-2 is lost, a small one arrives: no answer" in said["hole"]
    assert "hypervisor-1, 192.0.2.1 to 192.0.2.2, the network that tunnels cross" in said["hole"]
    assert "ping -M do -s 1472 -I 192.0.2.1 192.0.2.2" in said["hole"]
    assert said["fits"] == []
    (warning,) = said["silent"]
    assert "hypervisor-2 (192.0.2.3) does not answer small packets either" in warning
