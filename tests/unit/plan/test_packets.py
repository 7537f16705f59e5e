"""The picture of packets' ways shows what the plan says of the tenants' network."""

from __future__ import annotations

from collections.abc import Callable
from xml.etree import ElementTree as ET

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.output import packets

SVG = "{http://www.w3.org/2000/svg}"


def drawn(plan: Plan) -> tuple[ET.Element, str]:
    """Return the picture as a tree, and its words."""
    text = packets.packets_svg(plan)
    assert text is not None
    tree = ET.fromstring(text)  # noqa: S314 - our own text
    return tree, "\n".join(element.text or "" for element in tree.iter(f"{SVG}text"))


def ways(tree: ET.Element, colour: str) -> list[float]:
    """Return where the lines of a way end, from left to right."""
    return sorted(float(line.get("x2", "0")) for line in tree.iter(f"{SVG}line") if line.get("stroke") == colour)


@pytest.mark.parametrize("name", ["cloud", "region"])
def test_networks_hosts_and_sizes_are_in_the_picture(plan_of: Callable[..., Plan], name: str) -> None:
    plan = plan_of(name, {"openstack/services": ["keystone", "glance", "placement", "neutron", "nova"]})
    _, words = drawn(plan)
    provider = plan.networks[next(iter(plan.ovn.bridge_mappings.values()))]
    for wanted in (provider.cidr, f"MTU {plan.ovn.tenant_mtu}", plan.edge.address, "hypervisor-", "UDP 6081"):
        assert wanted in words


def test_a_floating_ip_passes_the_gateway_chassis_only_where_it_is_not_distributed(
    plan_of: Callable[..., Plan],
) -> None:
    own, _ = drawn(plan_of("cloud"))
    other, _ = drawn(plan_of("cloud", {"ovn": {"distributed_floating_ip": False}}))
    right = packets.WIDTH - packets.HOST  # where the second host begins
    assert max(ways(own, packets.FLOATING)) < right < max(ways(other, packets.FLOATING))
    assert max(ways(own, packets.SHARED)) > right, "without a floating IP it always does"


def test_everything_is_inside_the_picture(plan_of: Callable[..., Plan]) -> None:
    tree, _ = drawn(plan_of("cloud"))
    for element in tree.iter():
        for key, most in (("x", packets.WIDTH), ("x2", packets.WIDTH), ("y", packets.HEIGHT), ("y2", packets.HEIGHT)):
            assert 0 <= float(element.get(key, "0")) <= most


def test_a_site_without_instances_has_no_such_picture(plan_of: Callable[..., Plan]) -> None:
    assert packets.packets_svg(plan_of("lab")) is None
