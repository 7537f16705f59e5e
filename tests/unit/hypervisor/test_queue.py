"""Hypervisors reach each member of the message queue: what the release is given is what the layer looks for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.groundup.cloud.plugins.plugin_utils.compose import with_values
from ansible_collections.groundup.cloud.plugins.plugin_utils.hypervisor.cluster import member_port
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import build_site, make_plan

ROOT = Path(__file__).resolve().parents[3]


def extra(site: str, *services: str) -> dict[str, Any]:
    """Return RabbitMQ's further objects in an example site with more ``services``."""
    data: dict[str, Any] = yaml.safe_load((ROOT / "inventories" / site / "site.yml").read_text())
    data["openstack"]["services"] += services
    (release,) = [one for one in with_values(make_plan(build_site(data))).openstack.releases if one.name == "rabbitmq"]
    found: dict[str, Any] = release.values.get("extraObjects", {})
    return found


@pytest.mark.parametrize(("site", "members"), [("lab", 1), ("lab-ha", 3)])
def test_every_member_has_a_port_of_its_own_on_the_nodes(site: str, members: int) -> None:
    services = list(extra(site, "placement", "glance", "neutron", "nova").values())
    ports = [member_port(services, f"rabbitmq-rabbitmq-{number}") for number in range(members)]
    assert ports == [(30672 + number, False) for number in range(members)]


def test_a_site_without_nova_opens_none() -> None:
    assert extra("lab") == {}
