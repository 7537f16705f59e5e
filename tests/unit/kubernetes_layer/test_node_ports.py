"""Who reaches the node ports behind the public names: control hosts, whose HAProxy serves the names."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.module_utils._host.guard import Guard
from ansible_collections.groundup.cloud.plugins.module_utils._kubeadm.node_ports import GUARD, close
from ansible_collections.groundup.cloud.plugins.module_utils._kubeadm.spec import Node, Paths
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import load_site, make_plan

from .conftest import FakeHost, make_node

ROOT = Path(__file__).resolve().parents[3]

CONTROL, PORTS = ("10.0.0.12", "10.0.0.11"), (30774, 30500)
START = ("start", GUARD.unit.name)


def node(*ports: int) -> Node:
    worker = make_node(control=False)
    return replace(worker, cluster=replace(worker.cluster, control_addresses=CONTROL, edge_ports=ports))


@pytest.fixture(autouse=True)
def loaded(host: FakeHost, monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether the kernel has the rules while the unit runs."""
    found = [True]
    monkeypatch.setattr(Guard, "in_force", lambda *_: found[0] and GUARD.unit.name in host.running)
    monkeypatch.setattr(shutil, "which", lambda _: "/usr/sbin/nft")
    return found


def done(wanted: Node, paths: Paths) -> list[str]:
    changes = Changes(check=False)
    close(wanted, paths, changes)
    return changes.done


def test_control_hosts_are_admitted_and_nobody_else_before_kube_proxy_rewrites(host: FakeHost, paths: Paths) -> None:
    done(node(*PORTS), paths)
    lines = [line.strip() for line in paths.at(str(GUARD.rules)).read_text().splitlines()]
    assert "type filter hook prerouting priority mangle; policy accept;" in lines
    assert lines.index("iif lo accept") + 1 == lines.index(
        "ip saddr { 10.0.0.11, 10.0.0.12 } tcp dport { 30500, 30774 } accept"
    )
    assert any(line.startswith("fib daddr type local tcp dport { 30500, 30774 } drop") for line in lines)
    assert START in host.services


def test_rules_are_loaded_once_and_again_when_a_service_comes_or_they_are_flushed(
    host: FakeHost, paths: Paths, loaded: list[bool]
) -> None:
    done(node(*PORTS), paths)
    assert done(node(*PORTS), paths) == []
    host.services.clear()
    done(node(*PORTS, 30096), paths)
    assert ("restart", GUARD.unit.name) in host.services
    loaded[0], host.services[:] = False, []
    assert "load node-ports.nft again" in done(node(*PORTS, 30096), paths)
    assert ("restart", GUARD.unit.name) in host.services


def test_a_cluster_without_public_names_has_no_rules_and_loses_those_it_had(host: FakeHost, paths: Paths) -> None:
    assert done(node(), paths) == []
    assert not host.services
    done(node(*PORTS), paths)
    done(node(), paths)
    assert "dport" not in paths.at(str(GUARD.rules)).read_text()


def test_the_plan_closes_every_port_behind_a_public_name_to_all_but_control_hosts() -> None:
    plan = make_plan(load_site(ROOT / "inventories/ha/site.yml"))
    assert plan.kubernetes.edge_ports == tuple(sorted(one.node_port for one in plan.edge.endpoints if one.node_port))
    assert 30500 in plan.kubernetes.edge_ports
    assert not set(range(30672, 30680)) & set(plan.kubernetes.edge_ports), "the queue's ports are the hypervisors'"
    hosts = {name: host.address for name, host in plan.hosts.items() if "control" in host.roles}
    assert sorted(plan.kubernetes.control_addresses) == sorted(hosts.values())
