"""The first run reaches a host with the operator's own ssh, places the site's key, then needs no other."""

from __future__ import annotations

from collections.abc import Callable

from ansible_collections.groundup.cloud.tests.integration.contact.conftest import Operator
from ansible_collections.groundup.cloud.tests.integration.contact.machine import Machine

Start = Callable[[int], Machine]
ONE = "--limit=node-1,localhost"
PASSWORDLESS = "echo 'ops ALL=(ALL) NOPASSWD: ALL' > /etc/sudoers.d/ops"


def test_a_private_key_lets_the_run_place_the_sites_key(operator: Operator, machine: Start) -> None:
    one = machine(1)
    one.admit(operator.public_key)
    one.run(PASSWORDLESS)
    operator.write_site(node_1=one.host_key)
    first = operator.play(ONE, "--private-key", str(operator.key))
    assert first.startswith("exit 0"), first
    site_key = (operator.state / "ssh/id_ed25519.pub").read_text()
    assert one.run("cat /etc/ssh/authorized_keys.d/ops") == site_key
    one.run("rm /etc/sudoers.d/ops /home/ops/.ssh/authorized_keys")  # the operator is gone
    again = operator.play(ONE)
    assert again.startswith("exit 0"), again
    assert "changed: [node-1]" not in again
