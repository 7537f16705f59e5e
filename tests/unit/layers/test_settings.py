"""What a host gets for its roles, beside what every host of the site gets."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.layers.layers import LAYERS, sets_of
from ansible_collections.groundup.cloud.plugins.plugin_utils.layers.packages import PackageSet
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan, build_site, make_plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.output.serial import host_vars

HUGE = PackageSet(
    roles=frozenset(("hypervisor",)),
    packages=("qemu-system-x86",),
    sysctl={"vm.nr_hugepages": "64", "net.ipv4.conf.all.arp_filter": "1"},
    kernel_modules=("vhost_net", "dccp"),
)


def site(provisioner: str, **hosts: Any) -> Plan:
    """Return the plan of a lab with a hypervisor."""
    machines = {"seed": 1, "control": 1, "worker": 1, "hypervisor": 1}
    return make_plan(
        build_site(
            {
                "plugin": "groundup.cloud.site",
                "site": "unit",
                "domain": "unit.test",
                "profile": "lab",
                "machines": {name: {"count": count, "provisioner": provisioner} for name, count in machines.items()},
                "hosts": hosts,
            }
        )
    )


@pytest.fixture(autouse=True)
def _a_set_of_hypervisors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(LAYERS, "hypervisor", replace(LAYERS["hypervisor"], installs=(HUGE,), service=None))


def test_a_host_has_the_settings_of_its_roles_and_no_others() -> None:
    hosts = site("existing").hosts
    assert hosts["hypervisor-1"].sysctl == HUGE.sysctl
    assert hosts["hypervisor-1"].kernel_modules == HUGE.kernel_modules
    every = hosts["seed-1"].packages["host"]
    assert hosts["hypervisor-1"].packages == {"host": every, "hypervisor": HUGE.packages}
    assert hosts["seed-1"].sysctl == {}
    assert hosts["seed-1"].packages == {"seed": ("docker-registry", "nginx-light"), "host": every}
    assert host_vars(hosts["seed-1"])["packages"]["seed"] == ["docker-registry", "nginx-light"]
    assert set(every) < set(hosts["worker-1"].packages["host"])


def test_a_host_that_shares_its_kernel_gets_the_parameters_of_its_network_alone() -> None:
    host = site("container").hosts["hypervisor-1"]
    assert host.sysctl == {"net.ipv4.conf.all.arp_filter": "1"}
    assert host.kernel_modules == ()


def test_a_node_of_the_cluster_holds_a_million_connections_where_the_kernel_is_its_own() -> None:
    name = "net.netfilter.nf_conntrack_max"
    worker = site("existing").hosts["worker-1"]
    assert worker.sysctl == {name: "1048576"}
    assert worker.kernel_modules == ("nf_conntrack",), "without the module the parameter does not exist"
    assert site("container").hosts["worker-1"].sysctl == {}
    assert site("existing", sysctl={name: None}).hosts["worker-1"].sysctl == {}


def test_what_the_site_file_writes_for_every_host_wins() -> None:
    host = site("existing", sysctl={"vm.nr_hugepages": 8}, kernel_modules=[]).hosts["hypervisor-1"]
    assert host.sysctl == {"net.ipv4.conf.all.arp_filter": "1"}
    assert host.kernel_modules == ()


def test_a_module_that_some_hosts_load_is_blocked_on_none() -> None:
    assert "dccp" not in site("existing").host.blocked_modules
    assert "dccp" in site("container").host.blocked_modules


def test_what_only_a_service_needs_is_on_no_host_of_a_site_without_it() -> None:
    sets = {services: dict(sets_of(("control",), node=True, services=services)) for services in ((), ("neutron",))}
    assert set(sets[("neutron",)]) - set(sets[()]) == {"network"}
    assert "network" not in site("existing").hosts["control-1"].packages
