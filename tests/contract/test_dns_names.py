"""DNS names of instances and the pool of name servers, as both sets of charts render them."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.groundup.cloud.plugins.plugin_utils.compose import with_values
from ansible_collections.groundup.cloud.plugins.plugin_utils.hypervisor import ini
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import build_site, make_plan
from ansible_collections.groundup.cloud.tests.unit.plan.conftest import changed, example

from .conftest import CHARTS, Render, chart_in, objects

RELEASES = ("neutron", "nova", "designate")
DNS = {"domain": "vm.example.org", "name_servers": {"ns1.example.org": "192.0.2.53"}}
SERVICES = ["keystone", "placement", "glance", "neutron", "nova", "designate"]


@pytest.fixture(scope="module", params=["builtin", "openstack-helm"])
def items(request: pytest.FixtureRequest, render: Render) -> dict[str, list[dict[str, Any]]]:
    """The objects of a site with names, by release."""

    def chart(name: str) -> Path:
        if request.param == "builtin":
            return CHARTS / name
        return chart_in(request.getfixturevalue("real_charts"), name)

    site = changed(example("cloud"), {"openstack/dns": DNS, "openstack/services": SERVICES})
    releases = with_values(make_plan(build_site(site))).openstack.releases
    return {one.name: objects(render(one, chart(one.chart))) for one in releases if one.name in RELEASES}


def secret(items: list[dict[str, Any]], name: str) -> dict[str, str]:
    """Return what the Secret ``name`` holds; nothing where there is none."""
    found = [item for item in items if (item["kind"], item["metadata"]["name"]) == ("Secret", name)]
    return {key: base64.b64decode(value).decode() for one in found for key, value in one["data"].items()}


def test_neutron_has_the_domain_its_driver_and_designates_api(items: dict[str, list[dict[str, Any]]]) -> None:
    files = secret(items["neutron"], "neutron-etc")
    conf = files["neutron.conf"]
    assert ini.value(conf, "DEFAULT", "dns_domain") == "vm.example.org"
    assert ini.value(conf, "DEFAULT", "external_dns_driver") == "designate"
    assert ini.value(conf, "designate", "url") == "http://designate-api.openstack.svc.cluster.local:9001/v2"
    assert str(ini.value(conf, "designate", "allow_reverse_dns_lookup")).lower() == "false"
    drivers = ini.value(files["ml2_conf.ini"], "ml2", "extension_drivers") or ""
    assert drivers.split(",") == ["port_security", "qos", "subnet_dns_publish_fixed_ip"]


def test_the_real_chart_has_the_account_whose_public_password_is_replaced(keys: Any) -> None:
    account = keys["neutron"]["endpoints"]["identity"]["auth"]["designate"]
    assert {"username", "password", "role"} <= account.keys(), "else plugin_utils/services/dialects.py replaces nothing"


def test_no_account_has_the_charts_public_password_or_an_administrators_role(
    items: dict[str, list[dict[str, Any]]], request: pytest.FixtureRequest
) -> None:
    own = secret(items["neutron"], "neutron-keystone-designate")
    assert bool(own) == ("openstack-helm" in request.node.callspec.id), "only OpenStack-Helm's chart makes an account"
    if own:
        assert (own["OS_PASSWORD"], own["OS_USERNAME"]) == ("secretneutronkeystone", "neutron")
    assert "neutron_designate" not in json.dumps([item for item in items["neutron"] if item["kind"] == "Job"])


def test_instances_read_the_domain_in_their_metadata(items: dict[str, list[dict[str, Any]]]) -> None:
    assert ini.value(secret(items["nova"], "nova-etc")["nova.conf"], "api", "dhcp_domain") == "vm.example.org"


def test_the_pool_is_a_file_that_designate_reads(items: dict[str, list[dict[str, Any]]]) -> None:
    (pool,) = yaml.safe_load(secret(items["designate"], "designate-etc")["pools.yaml"])
    assert pool["ns_records"] == [{"hostname": "ns1.example.org.", "priority": 1}]
    assert pool["nameservers"] == [{"host": "192.0.2.53", "port": 53}]
    assert pool["catalog_zone"]["catalog_zone_fqdn"] == "catalog.invalid."
