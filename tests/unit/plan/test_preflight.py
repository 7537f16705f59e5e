"""What the plan hands to preflight."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from ipaddress import IPv4Address
from typing import get_args

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._plan.preflight import PreflightRoles
from ansible_collections.groundup.cloud.plugins.plugin_utils.layers.layers import LAYERS
from ansible_collections.groundup.cloud.plugins.plugin_utils.layers.ports import PORTS
from ansible_collections.groundup.cloud.plugins.plugin_utils.layers.purposes import PURPOSES
from ansible_collections.groundup.cloud.plugins.plugin_utils.layers.systems import SYSTEMS
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.types import DebianRelease

PlanOf = Callable[..., Plan]
EXISTING = {f"machines/{group}/provisioner": "existing" for group in ("seed", "control", "worker")}


@pytest.fixture
def plan(plan_of: PlanOf) -> Plan:
    return plan_of("lab-ha", {**EXISTING, "machines/worker/count": 40})


def of(plan: Plan, host: str) -> PreflightRoles:
    return plan.preflight.by_roles["+".join(plan.hosts[host].roles)]


def test_every_release_of_the_site_file_is_in_the_table_of_systems() -> None:
    assert tuple(SYSTEMS) == get_args(DebianRelease)


def test_each_host_is_a_neighbour_of_as_many_as_it_has(plan: Plan) -> None:
    named = {host.address: host.name for host in plan.hosts.values()}
    asked = Counter(named[one] for host in plan.hosts.values() for one in host.neighbours["management"])
    assert asked == dict.fromkeys(plan.hosts, 2)
    assert plan.hosts["worker-40"].neighbours["management"] == (
        plan.hosts["seed-1"].address,
        plan.hosts["control-1"].address,
    )
    assert plan.preflight.control["management"] == tuple(plan.hosts[f"control-{n}"].address for n in (1, 2, 3))


def test_machines_that_do_not_run_yet_are_nobodys_neighbours(plan_of: PlanOf) -> None:
    plan = plan_of("region")
    assert all(not host.neighbours for host in plan.hosts.values())
    assert not plan.preflight.control
    assert list(of(plan, "hypervisor-r1-1").reaches) == [plan.hosts["seed-1"].address]


def test_a_host_listens_on_the_ports_of_its_roles(plan: Plan) -> None:
    assert set(of(plan, "seed-1").listens) == {"22/tcp", "5000/tcp", "8080/tcp", "5001/tcp"}
    worker = {"22/tcp", "10250/tcp", "10248/tcp", "10256/tcp", "10249/tcp", "8472/udp"}
    assert set(of(plan, "worker-1").listens) == worker
    control = {f"{port}/tcp" for port in (6443, 443, 8404, 6444, 2379, 2380, 2381, 10257, 10259)}
    assert set(of(plan, "control-1").listens) == worker | control


def test_ports_are_those_the_site_file_writes(plan_of: PlanOf) -> None:
    changes = {"access": {"port": 2222}, "supply/files_url": "http://registry.lab.test:8181"}
    assert set(of(plan_of("lab", changes), "seed-1").listens) == {"2222/tcp", "5000/tcp", "8181/tcp", "5001/tcp"}


def test_a_pod_network_brings_its_own_ports(plan_of: PlanOf) -> None:
    changes = {"kubernetes/cni": "calico", "kubernetes/cni_backend": "host-gw", "supply/source": "upstream"}
    listens = of(plan_of("lab", changes), "worker-1").listens
    assert {"179/tcp", "5473/tcp"} < set(listens)
    assert "8472/udp" not in listens


def test_a_pod_network_of_calico_needs_its_tunnels_module(plan_of: PlanOf) -> None:
    plan = plan_of("lab", {"kubernetes/cni": "calico", "kubernetes/cni_backend": "vxlan", "supply/source": "upstream"})
    assert "vxlan" in of(plan, "worker-1").kernel_modules


def test_a_host_tries_the_ports_it_will_need_and_no_others(plan: Plan) -> None:
    control, seed = plan.hosts["control-1"].address, plan.hosts["seed-1"].address
    assert of(plan, "worker-1").reaches[control] == (22, 6443, 443)
    assert of(plan, "worker-1").reaches[seed] == (22, 5000, 8080)
    assert {2379, 2380, 6444, 10250} < set(of(plan, "control-1").reaches[control])


def test_networks_that_no_layer_uses_are_not_required(plan_of: PlanOf) -> None:
    assert plan_of("edge").preflight.unused_networks == ("storage", "tunnel", "provider")
    assert all(record.layer in (None, *LAYERS) for record in PURPOSES.values())


def test_room_and_modules_follow_from_roles(plan: Plan) -> None:
    assert of(plan, "seed-1").space == {"/": 2, "/var/log": 1, "/srv": 3, "/var/lib/docker-registry": 3}
    assert "/var/lib/etcd" in of(plan, "control-1").space
    assert {"vxlan", "nf_tables"} < set(of(plan, "worker-1").kernel_modules)
    assert "vxlan" not in of(plan, "seed-1").kernel_modules


def test_what_the_kubelet_is_told_to_bear_is_no_error(plan_of: PlanOf) -> None:
    lab, edge = plan_of("lab").preflight, plan_of("edge").preflight
    assert (lab.swap, lab.cgroup_v1, lab.eviction) == (True, True, False)
    assert (edge.swap, edge.cgroup_v1, edge.eviction) == (False, False, True)
    assert not edge.hardware_required
    assert plan_of("region").preflight.hardware_required
    assert edge.hardware["edge-node"]["memory_gb"] == 64


def test_process_names_are_as_long_as_the_kernel_keeps_them() -> None:
    assert all(len(name) <= 15 for record in PORTS.values() for name in record.programs)


def test_a_large_site_gives_a_host_few_to_ask(plan_of: PlanOf) -> None:
    plan = plan_of("lab", {**EXISTING, "machines/worker/count": 1000, "networks/management/cidr": "10.90.0.0/19"})
    assert max(len(host.neighbours["management"]) for host in plan.hosts.values()) == 2
    assert all(IPv4Address(one) for host in plan.hosts.values() for one in host.neighbours["management"])
