"""What keeps an instance from answering is named with its layer and a remedy, in the order of a packet's way."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud import faults
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud.faults import (
    Evidence,
    black_hole,
    gather,
    not_active,
    pings,
    unanswered,
)
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud.guest import Said
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud.room import Judgement

SEEN = Evidence(
    server="smoke-1", host="hypervisor-1", status="ACTIVE", address="203.0.113.7", binding="ovs",
    console=("guest: sshd is up",), pings=True, ssh="Connection timed out",
)  # fmt: skip
NO_METADATA = ("guest: neither config drive nor metadata service: no key",)


@pytest.mark.parametrize(
    ("change", "layer", "said"),
    [
        ({"binding": "binding_failed"}, "network", "ovn-sbctl"),
        ({"dead": ("OVN Controller agent on hypervisor-1",)}, "network", "journalctl"),
        ({"dead": ("OVN Controller agent on hypervisor-2",)}, "guest", "security group"),
        ({"console": NO_METADATA}, "metadata", "pgrep -af haproxy"),
        ({"console": NO_METADATA, "metadata": ""}, "metadata", "neutron-ovn-agent"),
        ({"console": NO_METADATA, "metadata": "it answers 503"}, "metadata", "nova-api-metadata"),
        (
            {"console": NO_METADATA, "dead": ("OVN Neutron agent on hypervisor-1",)},
            "metadata",
            "-u neutron-ovn-agent on",
        ),
        ({"console": NO_METADATA, "dead": ("OVN Controller agent on hypervisor-1",)}, "network", "ovn-controller"),
        ({"sizes": {84: "", 1300: "", 1301: "no answer", 1442: "no answer"}}, "network", "ping -M do -s 1472"),
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


@pytest.mark.parametrize(
    ("change", "what", "remedy"),
    [
        ({"dead": ("OVN Controller agent on hypervisor-1",)}, "not alive: OVN Controller agent", "timedatectl"),
        ({"dead": ("OVN Controller agent on hypervisor-2",)}, "binding_failed", "ovn-sbctl show"),
        (
            {"physical": "provider", "mapped": ["other"]},
            "no bridge to physical network provider, only other",
            "mappings",
        ),
        ({"physical": "provider", "mapped": ["provider"]}, "binding_failed", "ovn-sbctl show"),
        ({"physical": "provider", "mapped": None}, "binding_failed", "ovn-sbctl show"),
    ],
)
def test_a_port_that_is_not_bound(change: dict[str, Any], what: str, remedy: str) -> None:
    error = unanswered(replace(SEEN, binding="binding_failed", **change), timeout=60)
    assert what in error.what.splitlines()[0]
    assert remedy in error.remedy


def test_no_valid_host_is_told_in_placements_figures() -> None:
    who = Judgement(what="no hypervisor has room for VCPU 1: hypervisor-1: no inventory", remedy="journalctl")
    error = not_active(replace(SEEN, status="ERROR", fault="No valid host was found.", room=who), timeout=60)
    assert who.what in error.what
    assert (error.layer, error.remedy) == ("compute", "journalctl")


@pytest.mark.parametrize(
    ("limit", "said"),
    [
        (9000, ""),
        (1300, "packets of 1301 bytes are lost, of 1300 pass"),
        (84, "packets of 85 bytes are lost, of 84 pass"),
        (20, ""),
    ],
)
def test_a_black_hole_is_large_packets_lost_where_small_ones_pass(
    limit: int, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ping(argv: list[str], **_more: float) -> Said:
        return Said(data=b"", fault="exit code 1" if int(argv[argv.index("-s") + 1]) + 28 > limit else "")

    monkeypatch.setattr(faults, "said_by", ping)
    sizes = pings("203.0.113.7", mtu=1442)
    assert {84, 1442} <= sizes.keys()
    assert len(sizes) <= 4
    hole = black_hole(sizes)
    assert hole.endswith(said)
    assert bool(hole) == bool(said)


@pytest.mark.parametrize(
    ("said", "mapped"),
    [("provider:br-ex,storage:br-st", ["provider", "storage"]), ({"provider": "br-ex"}, ["provider"]), ("", []),
     (None, None)],
)  # fmt: skip
def test_what_is_gathered_is_what_the_cloud_says(
    said: Any, mapped: list[str] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(faults, "said_by", lambda *_a, **_k: Said(data=b""))
    port = {"binding_vif_type": "ovs", "network_id": "n"}
    agent = {"agent_type": "OVN Controller agent", "host": "hypervisor-1", "is_alive": True,
             "configuration": {} if said is None else {"bridge-mappings": said}}  # fmt: skip
    server = {"id": "s", "name": "smoke-1", "compute_host": "hypervisor-1", "status": "ACTIVE", "fault": None}
    admin = SimpleNamespace(
        compute=SimpleNamespace(get_server=lambda _: server, services=lambda: []),
        network=SimpleNamespace(
            ports=lambda **_: [port], agents=lambda **_: [agent],
            get_network=lambda _: {"provider_physical_network": "provider"},
        ),
        session=SimpleNamespace(get=lambda *_a, **_k: SimpleNamespace(status_code=503)),
    )  # fmt: skip
    console = SimpleNamespace(get_server_console_output=lambda *_a, **_k: {"output": "guest: sshd is up"})
    seen = gather(admin, SimpleNamespace(compute=console), server, address="203.0.113.7", mtu=1442, metadata_url="u")
    assert (seen.physical, seen.mapped, seen.metadata) == ("provider", mapped, "it answers 503")
    assert (seen.pings, seen.sizes) == (True, {84: "", 1442: ""})
    assert "ping with 1442 bytes: answers" in seen.lines()


def test_everything_that_is_known_is_shown_and_nothing_else() -> None:
    lines = unanswered(SEEN, timeout=60).what.splitlines()
    assert any("ping: answers" in line for line in lines)
    assert any("guest: sshd is up" in line for line in lines)
    assert not any("neighbour" in line or "fault" in line for line in lines)
