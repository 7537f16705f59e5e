"""Names and addresses that no host, port or network can have are refused, each with what to write."""

from __future__ import annotations

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import make_plan, parse_site

from .refusal import LAB, refused


@pytest.mark.parametrize("domain", ["10.90.0.5", "cloud.123", "123", "cloud.0x7f", "cluster.0x"])
@pytest.mark.parametrize("key", ["domain", "kubernetes.dns_domain"])
def test_a_domain_that_is_read_as_an_address_is_refused(domain: str, key: str) -> None:
    text = LAB.replace("domain: lab.test", f'domain: "{domain}"')
    if key != "domain":
        text = f'{LAB}kubernetes: {{dns_domain: "{domain}"}}\n'
    assert "ends in a number" in str(refused(text))


@pytest.mark.parametrize(
    "name",
    ["101", "0x65", "0", "0177", "[101:103]", "0x[1:3]", "localhost", "ip6-localhost", "localhost6", "ip6-allnodes"],
)
def test_a_host_name_that_resolvers_read_as_an_address_is_refused(name: str) -> None:
    assert refused(f'{LAB}  worker: {{names: ["{name}"]}}\n').problems


@pytest.mark.parametrize("domain", ["localhost", "cloud.localhost"])
@pytest.mark.parametrize("key", ["domain", "kubernetes.dns_domain"])
def test_a_domain_that_is_each_hosts_own_is_refused(domain: str, key: str) -> None:
    text = LAB.replace("domain: lab.test", f"domain: {domain}")
    if key != "domain":
        text = f"{LAB}kubernetes: {{dns_domain: {domain}}}\n"
    assert "with this host" in str(refused(text))


@pytest.mark.parametrize("name", ["hv-101", "101-a", "0xg", "1e3"])
def test_a_host_name_with_a_number_in_it_is_a_name(name: str) -> None:
    make_plan(parse_site(f'{LAB}  worker: {{names: ["{name}"]}}\n'.encode(), file="site.yml"))


@pytest.mark.parametrize(
    ("zone", "said"),
    [
        ("US/Pacific", "America/Los_Angeles"),
        ("Berlin", "no area"),
        ("Canada/Eastern", "America/Toronto"),
        ("Asia/Calcutta", "Asia/Kolkata"),
        ("Europe/Kiev", "Europe/Kyiv"),
        ("America/Jujuy", "America/Argentina/Jujuy"),
        ("Asia/Istanbul", "write Europe/Istanbul"),
        ("EST5EDT", "no area"),
        ("posix/Europe/Berlin", "no area of today"),
        ("europe/berlin", "no area of today"),
        ("Europe/berlin", "another case"),
    ],
)
def test_an_old_or_half_name_of_a_time_zone_is_refused_with_todays(zone: str, said: str) -> None:
    assert said in str(refused(f"{LAB}hosts: {{timezone: {zone}}}\n"))


@pytest.mark.parametrize("registry", ["harbor.example.org/openstack", "https://harbor.example.org", "harbor"])
def test_a_registry_without_a_port_is_refused_in_words(registry: str) -> None:
    assert "write host:port of the registry" in str(refused(f'{LAB}supply: {{registry: "{registry}"}}\n'))


@pytest.mark.parametrize("name", ["enP3s1f0", "enP2p1s0f0np0"])
def test_an_interface_may_be_named_by_a_pci_domain(name: str) -> None:
    parse_site(f"{LAB}networks: {{management: {{cidr: 10.0.0.0/24, interface: {name}}}}}\n".encode(), file="site.yml")


@pytest.mark.parametrize(
    ("name", "said"),
    [("enP65536p1s0f0np0", "longer than the 15 characters"), ("enx00112233445566", "ip link"), ("lo", "loopback")],
)
def test_a_name_that_no_port_can_have_is_refused_in_words(name: str, said: str) -> None:
    assert said in str(refused(f"{LAB}networks: {{management: {{cidr: 10.0.0.0/24, interface: {name}}}}}\n"))


@pytest.mark.parametrize("cidr", ["224.1.0.0/16", "240.0.0.0/8", "169.254.8.0/24", "0.0.0.0/8", "255.255.255.0/24"])
@pytest.mark.parametrize(
    "key", ["networks: {management: {cidr: %s}}", "kubernetes: {pod_cidr: %s}", "kubernetes: {service_cidr: %s}"]
)
def test_a_network_of_addresses_that_no_host_can_have_is_refused(cidr: str, key: str) -> None:
    assert "addresses that are for" in str(refused(f"{LAB}{key % cidr}\n"))


@pytest.mark.parametrize("address", ["224.0.0.1", "255.255.255.255", "169.254.3.1", "0.0.0.1"])
def test_an_address_that_no_host_can_have_is_refused(address: str) -> None:
    assert "is for" in str(refused(f"{LAB}edge: {{address: {address}}}\n"))


@pytest.mark.parametrize("cidr", ["203.0.113.0/24", "198.51.100.0/24", "100.64.0.0/16", "198.18.0.0/24"])
def test_networks_for_documentation_and_tests_are_for_labs(cidr: str) -> None:
    parse_site(f"{LAB}networks: {{management: {{cidr: {cidr}}}}}\n".encode(), file="site.yml")


@pytest.mark.parametrize("word", ["osh", "built-in", "builtin,", "openstack-helm", "Builtin", "."])
def test_a_word_is_no_source_of_charts(word: str) -> None:
    assert "write builtin, a directory with a slash" in str(refused(f'{LAB}openstack: {{charts: "{word}"}}\n'))


@pytest.mark.parametrize(
    "place", ["./osh", "/srv/charts", "https://charts.example.org", "oci://registry.example.org/osh"]
)
def test_a_directory_or_url_is_a_source_of_charts(place: str) -> None:
    make_plan(parse_site(f"{LAB}openstack: {{charts: {place}}}\n".encode(), file="site.yml"))
