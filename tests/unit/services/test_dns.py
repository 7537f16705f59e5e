"""DNS names of instances: what Neutron, Nova and Designate are told, and what their verifiers say."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from ansible_collections.groundup.cloud.plugins.plugin_utils.services import designate, dialects, neutron

from .test_barbican import plan_of

NETWORK = ("placement", "glance", "nova", "neutron")
SERVERS = {"ns1.example.org": "192.0.2.53", "ns2.example.org": "192.0.2.54"}
PORT = {"fixed_ips": [{"ip_address": "192.0.2.5"}]}


def told(*services: str, **dns: Any) -> dict[str, Any]:
    """Return `conf` by release of a site with ``dns``."""
    releases = plan_of(*services, openstack={"dns": dns}).openstack.releases
    return {one.name: one.values.get("conf", {}) for one in releases}


def drivers(conf: dict[str, Any]) -> list[str]:
    return str(conf["neutron"]["plugins"]["ml2_conf"]["ml2"]["extension_drivers"]).split(",")


def test_without_a_domain_nothing_of_it_is_told() -> None:
    conf = told(*NETWORK, "designate")
    assert not {"dns_domain", "external_dns_driver"} & conf["neutron"]["neutron"]["DEFAULT"].keys()
    assert "designate" not in conf["neutron"]["neutron"]
    assert "api" not in conf["nova"]["nova"]
    assert "subnet_dns_publish_fixed_ip" not in drivers(conf)


def test_a_domain_alone_gives_ports_names_and_no_records() -> None:
    conf = told(*NETWORK, domain="vm.example.org")
    assert conf["neutron"]["neutron"]["DEFAULT"]["dns_domain"] == "vm.example.org"
    assert "external_dns_driver" not in conf["neutron"]["neutron"]["DEFAULT"]
    assert conf["nova"]["nova"]["api"] == {"dhcp_domain": "vm.example.org"}
    assert "subnet_dns_publish_fixed_ip" in drivers(conf)


def test_with_designate_neutron_asks_its_api_within_the_cluster_and_makes_no_reverse_records() -> None:
    own = told(*NETWORK, "designate", domain="vm.example.org")["neutron"]["neutron"]
    assert own["DEFAULT"]["external_dns_driver"] == "designate"
    assert own["designate"]["url"] == "http://designate-api.openstack.svc.cluster.local:9001/v2"
    assert own["designate"]["allow_reverse_dns_lookup"] is False
    assert own["designate"]["timeout"] > 0


def test_the_pool_is_the_sites_name_servers_and_they_fetch_from_control_hosts() -> None:
    plan = plan_of("designate", openstack={"dns": {"name_servers": SERVERS}})
    text = next(one for one in plan.openstack.releases if one.name == "designate").values["conf"]["pools"]
    assert text.endswith("]\n"), "more than one line, or OpenStack-Helm's chart would quote it"
    (pool,) = yaml.safe_load(text)
    assert [one["hostname"] for one in pool["ns_records"]] == ["ns1.example.org.", "ns2.example.org."]
    assert [one["host"] for one in pool["nameservers"]] == list(SERVERS.values())
    assert [one["options"]["host"] for one in pool["targets"]] == list(SERVERS.values())
    control = [host.address for host in plan.hosts.values() if "control" in host.roles]
    assert control
    assert all(one["masters"] == [{"host": at, "port": 30354} for at in control] for one in pool["targets"])
    assert pool["catalog_zone"]["catalog_zone_fqdn"] == "catalog.invalid."
    assert "zones-without-name-servers" not in {finding.name for finding in plan.findings}


def test_the_pool_without_name_servers_has_the_text_of_sites_that_run() -> None:
    """Designate restarts for another text, whatever it means."""
    text = told("designate")["designate"]["pools"]
    lines = ("description: DOMAIN", "attributes: {}", "ns_records: [{hostname: ns1.DOMAIN., priority: 1}]")
    more = ("nameservers: []", "targets: []")
    wanted = "- name: default\n" + "".join(f"  {line}\n" for line in (*lines, *more))
    assert text == wanted.replace("DOMAIN", plan_of("designate").domain)


def test_openstack_helms_account_for_reverse_records_is_neutrons_own() -> None:
    plan = plan_of(*NETWORK, "designate", openstack={"dns": {"domain": "vm.example.org"}})
    values = next(one for one in plan.openstack.releases if one.name == "neutron").values
    public = {"password": "password", "role": "admin,service"}
    chart = {"conf": {"ovn_agent": {}}, "endpoints": {"identity": {"auth": {"designate": public}}}}
    auth = dialects.neutron(values, chart)["endpoints"]["identity"]["auth"]
    assert auth["designate"] == auth["neutron"]
    assert auth["designate"]["role"] == "service"
    assert (
        "designate"
        not in dialects.neutron(values, {**chart, "endpoints": {"identity": {"auth": {}}}})["endpoints"]["identity"][
            "auth"
        ]
    )


@pytest.mark.parametrize(
    ("named", "well"), [("host-192-0-2-5.vm.example.org.", True), ("host-192-0-2-5.openstacklocal.", False)]
)
def test_a_port_without_a_name_in_the_domain_is_said(named: str, well: bool) -> None:
    port = {**PORT, "dns_assignment": [{"fqdn": named}]}
    check = neutron.judge_network({"mtu": 1442}, port, wanted=1442, domain="vm.example.org")
    assert check.ok == well
    assert ("no name in vm.example.org" in check.detail) != well


def test_name_servers_that_no_pool_has_are_said() -> None:
    pools = [{"ns_records": [{"hostname": "ns1.example.org."}]}]
    assert designate.judge_pools(pools, ["ns1.example.org."]).ok
    check = designate.judge_pools(pools, ["ns1.example.org.", "ns2.example.org."])
    assert not check.ok
    assert "in no pool: ns2.example.org." in check.detail
