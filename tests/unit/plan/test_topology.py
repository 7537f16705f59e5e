"""The picture and the table show what the plan says."""

from __future__ import annotations

from collections.abc import Callable
from xml.etree import ElementTree as ET

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.layers.purposes import PURPOSES
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.output.report import summary, table
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.output.topology import topology_svg

SVG = "{http://www.w3.org/2000/svg}"


def drawn(plan: Plan) -> tuple[ET.Element, list[str]]:
    """Return the picture as a tree, and its words."""
    tree = ET.fromstring(topology_svg(plan))  # noqa: S314 - our own text
    return tree, [element.text or "" for element in tree.iter(f"{SVG}text")]


@pytest.mark.parametrize("name", ["lab", "lab-ha", "edge", "region"])
def test_every_rack_machine_plane_and_the_virtual_ip_are_drawn(plan_of: Callable[..., Plan], name: str) -> None:
    plan = plan_of(name)
    _, words = drawn(plan)
    text = "\n".join(words)
    assert {host.rack for host in plan.hosts.values()} <= set(words)
    assert set(plan.hosts) <= set(words)
    assert set(plan.networks) <= set(words)
    assert f"VIP {plan.edge.address}" in words
    for network in plan.networks.values():
        assert network.cidr in text
    assert plan.kubernetes.pod_cidr in text


def test_a_rack_is_joined_to_the_planes_its_machines_are_on_and_to_no_other(plan_of: Callable[..., Plan]) -> None:
    tree, _ = drawn(plan_of("region", {"networks/cluster": {"cidr": "10.96.12.0/22", "vlan": 99}}))
    ends = [circle.get("stroke") for circle in tree.iter(f"{SVG}circle")]
    assert ends.count(PURPOSES["provider"].colour) == 8  # the hypervisors' racks
    assert ends.count(PURPOSES["cluster"].colour) == 3  # the control hosts'
    assert ends.count(PURPOSES["management"].colour) == 11


def test_nothing_is_drawn_outside_the_picture(plan_of: Callable[..., Plan]) -> None:
    for name in ("lab", "edge", "region"):
        tree, _ = drawn(plan_of(name))
        width, height = float(tree.get("width", "0")), float(tree.get("height", "0"))
        for element in tree.iter():
            x, y = float(element.get("x", "0")), float(element.get("y", "0"))
            assert 0 <= x + float(element.get("width", "0")) <= width
            assert 0 <= y + (float(element.get("height", "0")) if element.tag == f"{SVG}rect" else 0) <= height


def test_hundreds_of_racks_that_look_alike_are_drawn_once(plan_of: Callable[..., Plan]) -> None:
    racks: dict[str, dict[str, int]] = {f"r{n}": {} for n in range(1, 251)}
    networks = {
        f"networks/{name}/cidr": f"10.{n * 2}.0.0/15" for n, name in enumerate(("management", "storage", "tunnel"))
    }
    changes = {**networks, "racks": racks, "machines/hypervisor/racks": list(racks)}
    changes |= {f"machines/{role}/racks": ["r1", "r2", "r3"] for role in ("control", "storage")}
    text = topology_svg(plan_of("region", changes))
    assert ">247 racks<" in text
    assert len(text) < 300_000


def test_the_table_has_every_finding_and_fits_its_width(plan_of: Callable[..., Plan]) -> None:
    findings = plan_of("edge", {"kubernetes/version": "1.35.0"}).findings
    text = table(findings, width=120)
    assert all(finding.name in text and finding.severity.upper() in text for finding in findings)
    assert max(map(len, text.splitlines())) <= 120
    assert text.splitlines()[-1] == summary(findings) == "1 error, 1 warning, 2 infos"


def test_the_table_of_nothing_says_so() -> None:
    assert table(()) == "no findings"
