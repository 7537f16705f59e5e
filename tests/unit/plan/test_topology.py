"""The picture and the table show what the plan says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from xml.etree import ElementTree as ET

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.layers.purposes import PURPOSES
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.output.drawing import GROUND, WIDE
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.output.report import summary, table
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.output.topology import topology_svg
from ansible_collections.groundup.cloud.tests.unit.plan.test_wiring import bonded

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
    sizes = Counter(host.rack for host in plan.hosts.values())
    apart = [host for host in plan.hosts.values() if sizes[host.rack] <= 16]
    assert {host.name for host in apart} | {host.address or "no address" for host in apart} <= set(words)
    assert words.count("40 with BMC") == sum(size > 16 for size in sizes.values())
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


@pytest.mark.parametrize("name", ["lab", "edge", "cloud", "ha", "region", "lab-metal"])
def test_nothing_is_drawn_outside_the_picture(plan_of: Callable[..., Plan], name: str) -> None:
    tree, _ = drawn(plan_of(name, {"domain": f"{'a-long-name.' * 7}example.org"} if name != "ha" else {}))
    width, height = float(tree.get("width", "0")), float(tree.get("height", "0"))
    for element in tree.iter():
        x, y = float(element.get("x", "0")), float(element.get("y", "0"))
        assert 0 <= x + float(element.get("width", "0")) <= width
        assert 0 <= y + (float(element.get("height", "0")) if element.tag == f"{SVG}rect" else 0) <= height
        if element.tag == f"{SVG}text" and element.get("text-anchor") != "end":
            right = x + WIDE * float(element.get("font-size", "0")) * len(element.text or "")
            assert right <= width, element.text


def test_a_rack_of_many_names_the_first_and_the_last_of_equal_machines(plan_of: Callable[..., Plan]) -> None:
    plan = plan_of("region")
    _, words = drawn(plan)
    ends = [plan.hosts[f"hypervisor-r1-{number}"] for number in (1, 40)]
    begin = words.index(ends[0].name)
    assert words[begin : begin + 4] == [text for host in ends for text in (host.name, host.address)]
    assert "hypervisor-r1-2" not in words


def test_two_racks_use_the_width(plan_of: Callable[..., Plan]) -> None:
    tree, _ = drawn(plan_of("ha", {"machines/hypervisor/rack": "r9"}))
    racks = [float(box.get("width", "0")) for box in tree.iter(f"{SVG}rect") if box.get("fill") == GROUND]
    assert len(racks) == 2
    assert sum(racks) > 600


def test_bonds_vlans_and_bmcs_are_told(plan_of: Callable[..., Plan]) -> None:
    plan = plan_of("lab-metal", bonded())
    _, words = drawn(plan)
    said = next(line for line in words if line.startswith("worker (1): "))
    assert "bond0" in said
    assert "nic1" not in said.partition(":")[0]
    assert "VLAN 120 storage" in said
    bmc = plan.hosts["worker-1"].bmc
    assert bmc
    assert f"BMC {bmc['address']}" in words
    assert "wiring" not in drawn(plan_of("lab"))[1]


def test_findings_are_counted_in_words(plan_of: Callable[..., Plan]) -> None:
    assert "findings: 2 warnings, 2 infos" in drawn(plan_of("rack"))[1]
    assert "findings: 1 error, 1 warning, 2 infos" in drawn(plan_of("edge", {"kubernetes/version": "1.35.0"}))[1]


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


def test_a_long_key_goes_on_in_the_next_line_at_a_dot_and_has_every_letter(plan_of: Callable[..., Plan]) -> None:
    changes = {"machines/seed": {"count": 1, "machines": {"seed-1": {"address": "10.99.0.5"}}}}
    (wrong,) = (one for one in plan_of("rack", changes).findings if one.name == "address-outside-network")
    places = [line[36:72].strip() for line in table([wrong]).splitlines()[2:-2]]
    assert [one for one in places if one] == ["machines.seed.machines.seed-1.", "address"]


def test_the_table_of_nothing_says_so() -> None:
    assert table(()) == "no findings"
