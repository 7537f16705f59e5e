"""What keeps an instance from answering is named with its layer and a remedy, in the order of a packet's way."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud.faults import Evidence, not_active, unanswered

SEEN = Evidence(
    server="smoke-1", host="hypervisor-1", status="ACTIVE", address="203.0.113.7", binding="ovs",
    console=("guest: sshd is up",), pings=True, ssh="Connection timed out",
)  # fmt: skip


@pytest.mark.parametrize(
    ("change", "layer", "said"),
    [
        ({"binding": "binding_failed"}, "network", "ovn-sbctl"),
        ({"dead": ("OVN Controller agent on hypervisor-1",)}, "network", "journalctl"),
        ({"dead": ("OVN Controller agent on hypervisor-2",)}, "guest", "security group"),
        ({"console": ("guest: neither config drive nor metadata service: no key",)}, "metadata", "neutron-ovn-agent"),
        ({"console": ()}, "guest", "CPU model"),
        ({"console": None, "pings": False}, "network", "gateway"),
        ({"pings": False}, "network", "gateway"),
        ({"ssh": "guest@203.0.113.7: Permission denied (publickey)."}, "metadata", "another key"),
        ({}, "guest", "MTU"),
    ],
)
def test_silence(change: dict[str, Any], layer: str, said: str) -> None:
    error = unanswered(replace(SEEN, **change), timeout=60)
    assert error.layer == layer
    assert said in error.remedy
    assert "hypervisor-1" in error.where


@pytest.mark.parametrize(
    ("change", "layer", "said"),
    [
        ({"status": "ERROR", "fault": "No valid host was found."}, "compute", "filter"),
        ({"status": "ERROR", "fault": "Exhausted all hosts", "host": ""}, "compute", "nova-compute on the hypervisors"),
        ({"status": "ERROR", "fault": "Build aborted", "binding": "binding_failed"}, "network", "chassis"),
        ({"status": "ERROR", "fault": "CPU doesn't have compatibility"}, "compute", "nova-compute on hypervisor-1"),
        ({"status": "BUILD", "host": ""}, "compute", "nova-scheduler"),
    ],
)
def test_not_active(change: dict[str, Any], layer: str, said: str) -> None:
    error = not_active(replace(SEEN, **change), timeout=60)
    assert error.layer == layer
    assert said in error.remedy
    assert change.get("fault", "BUILD after 60 s") in error.what


def test_everything_that_is_known_is_shown_and_nothing_else() -> None:
    lines = unanswered(SEEN, timeout=60).what.splitlines()
    assert any("ping: answers" in line for line in lines)
    assert any("guest: sshd is up" in line for line in lines)
    assert not any("neighbour" in line or "fault" in line for line in lines)
