"""Hosts as their operator sees them, over ssh."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.types import Plan

pytestmark = pytest.mark.lab


def test_every_host_has_booted_without_a_failed_unit(plan: Plan, connect: Callable[[str], Any]) -> None:
    states = {name: connect(name).run("systemctl is-system-running").stdout.strip() for name in plan.hosts}
    assert states == dict.fromkeys(plan.hosts, "running")


def test_every_host_resolves_the_site_s_names(plan: Plan, connect: Callable[[str], Any]) -> None:
    for host in plan.hosts:
        for name, address in plan.host.names.items():
            assert connect(host).addr(name).ipv4_addresses == [address], f"{name} on {host}"


def test_exactly_one_control_host_holds_the_virtual_address(plan: Plan, connect: Callable[[str], Any]) -> None:
    holders = [
        name
        for name in plan.edge.hosts
        if any(plan.edge.address in connect(name).interface(i).addresses for i in connect(name).interface.names())
    ]
    assert len(holders) == 1


def test_every_node_runs_containerd_and_kubelet(plan: Plan, connect: Callable[[str], Any]) -> None:
    for name, host in plan.hosts.items():
        if host.node_labels:
            for unit in ("containerd", "kubelet"):
                service = connect(name).service(unit)
                assert service.is_running, f"{unit} on {name}"
                assert service.is_enabled, f"{unit} on {name}"
