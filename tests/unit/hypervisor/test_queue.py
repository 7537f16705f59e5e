"""Hypervisors reach each member of the message queue: what the release is given is what the layer looks for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.groundup.cloud.plugins.plugin_utils.compose import with_values
from ansible_collections.groundup.cloud.plugins.plugin_utils.hypervisor.cluster import member_port
from ansible_collections.groundup.cloud.plugins.plugin_utils.pki import users
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan, build_site, make_plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.services.certificates import certificates

ROOT = Path(__file__).resolve().parents[3]


CLOUD = ("placement", "glance", "neutron", "nova")


def planned(site: str, *services: str, charts: str = "builtin") -> Plan:
    """Return the plan of an example site with more ``services``."""
    data: dict[str, Any] = yaml.safe_load((ROOT / "inventories" / site / "site.yml").read_text())
    data["openstack"]["services"] += services
    data["openstack"]["charts"] = charts
    return with_values(make_plan(build_site(data)))


def extra(plan: Plan) -> dict[str, Any]:
    """Return RabbitMQ's further objects, but for its policy."""
    (release,) = [one for one in plan.openstack.releases if one.name == "rabbitmq"]
    return {name: item for name, item in release.values["extraObjects"].items() if name != "network_policy"}


@pytest.mark.parametrize(("site", "members"), [("lab", 1), ("lab-ha", 3)])
def test_every_member_has_a_port_of_its_own_on_the_nodes(site: str, members: int) -> None:
    services = list(extra(planned(site, *CLOUD)).values())
    ports = [member_port(services, f"rabbitmq-rabbitmq-{number}") for number in range(members)]
    assert ports == [(30672 + number, True) for number in range(members)]


def test_the_plain_port_is_open_to_no_host() -> None:
    opened = [
        port["port"] for service in extra(planned("lab-ha", *CLOUD)).values() for port in service["spec"]["ports"]
    ]
    assert opened == [5671] * 3


def test_a_site_without_nova_opens_none() -> None:
    assert extra(planned("lab")) == {}
    assert [one.user for one in certificates(planned("lab"))] == ["galera"]


def test_the_queues_certificate_has_every_address_that_hypervisors_connect_to() -> None:
    plan = planned("lab-ha", *CLOUD)
    (spec,) = [one for one in users(plan) if one.user == "rabbitmq"]
    assert spec.usage == "server"
    assert set(spec.names) == {host.address for host in plan.hosts.values() if "control" in host.roles}


def test_charts_that_cannot_listen_with_tls_beside_the_plain_port_are_warned_of() -> None:
    plan = planned("lab", *CLOUD, charts="/charts")
    assert member_port(list(extra(plan).values()), "rabbitmq-rabbitmq-0") == (30672, False)
    assert not [one for one in certificates(plan) if one.user == "rabbitmq"]
    assert "queue-in-clear" in {finding.name for finding in plan.findings}
    assert "queue-in-clear" not in {finding.name for finding in planned("lab", *CLOUD).findings}
