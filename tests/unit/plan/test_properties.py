"""Promises that hold for every site, not only for the examples."""

from __future__ import annotations

import copy
from collections import Counter
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path
from typing import Any

import yaml
from ansible_collections.groundup.cloud.plugins.plugin_utils.compose import with_values
from ansible_collections.groundup.cloud.plugins.plugin_utils.layers.roles import ROLES
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import (
    SiteError,
    build_site,
    make_plan,
    parse_site,
    to_json,
)
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.output.report import table
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.output.topology import topology_svg
from hypothesis import given, settings
from hypothesis import strategies as st

ROOT = Path(__file__).resolve().parents[3]
EXAMPLES = {
    name: yaml.safe_load((ROOT / "inventories" / name / "site.yml").read_text()) for name in ("lab", "edge", "region")
}
EXAMPLES["edge"] |= {
    "kubernetes": {"kubelet": {"maxPods": 200}, "cni": "flannel"},
    "openstack": {
        "services": ["keystone", "glance"],
        "overrides": {"keystone": {"why": "drawn", "values": {"conf": {"keystone": {"DEFAULT": {"debug": True}}}}}},
        "replicas": {"mariadb": 1},
        "chart_versions": {"keystone": "2026.1.0"},
    },
    "supply": {"source": "build", "images": {"mariadb": "registry.example.org/mariadb:11.8"}},
    "hosts": {"sysctl": {"vm.swappiness": 1}, "dns_servers": ["10.95.0.53"], "timezone": "Etc/UTC"},
}

SLOW = settings(max_examples=60)

# A site that may be large or small, on networks that may be too narrow for it.
counts = st.fixed_dictionaries(
    {"seed": st.integers(1, 3), "control": st.integers(0, 9)},
    optional={"storage": st.integers(0, 40), "worker": st.integers(0, 70), "hypervisor": st.integers(0, 300)},
)


@st.composite
def sites(draw: st.DrawFn) -> dict[str, Any]:
    """Draw a site that says what it must, with networks that do not overlap."""
    prefix = draw(st.sampled_from([18, 20, 21, 22, 22, 24, 27]))
    planes = draw(st.lists(st.sampled_from(["storage", "tunnel", "provider", "oob", "cluster"]), unique=True))
    networks = {name: {"cidr": f"10.{50 + n}.0.0/{prefix}"} for n, name in enumerate(["management", *planes])}
    machines: dict[str, dict[str, Any]] = {role: {"count": count} for role, count in draw(counts).items()}
    for role, group in machines.items():
        if draw(st.booleans()):
            group["offset"] = draw(st.integers(0, 50))
        if draw(st.integers(0, 7)) == 0:
            number = draw(st.integers(1, 5))
            group["machines"] = {f"{role}-{number}": {"address": f"10.50.0.{draw(st.integers(1, 254))}"}}
    return {
        "plugin": "groundup.cloud.site",
        "site": "drawn",
        "domain": "drawn.test",
        "profile": draw(st.sampled_from(["lab", "edge", "region"])),
        "networks": networks,
        "machines": machines,
    }


@SLOW
@given(sites())
def test_no_site_without_errors_has_an_address_twice_or_outside_its_network(data: dict[str, Any]) -> None:
    plan = with_values(make_plan(build_site(data)))
    if any(
        finding.severity == "error" and finding.name.startswith(("dup", "address", "range"))
        for finding in plan.findings
    ):
        return
    used = Counter(
        (port.network, port.address) for host in plan.hosts.values() for port in host.interfaces if port.address
    )
    used[plan.edge.network, plan.edge.address] += 1
    for name, network in plan.networks.items():
        if network.gateway:
            used[name, network.gateway] += 1
    assert [place for place, times in used.items() if times > 1] == []
    for network_name, address in used:
        cidr = IPv4Network(plan.networks[network_name].cidr)
        assert IPv4Address(address) in cidr
        assert IPv4Address(address) not in (cidr[0], cidr[-1])


@SLOW
@given(sites(), st.sampled_from(tuple(ROLES)), st.integers(1, 20))
def test_adding_machines_to_any_group_moves_nobody(data: dict[str, Any], role: str, more: int) -> None:
    grown = copy.deepcopy(data)
    group = grown["machines"].setdefault(role, {"count": 0})
    group["count"] += more
    # A role's first machine may bring networks of the profile with it; they are new ones.
    before, after = make_plan(build_site(data)), make_plan(build_site(grown))
    for name, host in before.hosts.items():
        now = {port.network: port.address for port in after.hosts[name].interfaces}
        for port in host.interfaces:
            assert now[port.network] == port.address, (name, port.network)
        assert after.hosts[name].address == host.address


@SLOW
@given(sites(), st.data())
def test_taking_a_machine_away_moves_nobody(data: dict[str, Any], draw: st.DataObject) -> None:
    data["machines"] = {"control": {"count": 1}, "worker": {"names": [f"w-{n}" for n in range(1, 12)]}}
    less = copy.deepcopy(data)
    less["machines"]["worker"]["names"].remove(draw.draw(st.sampled_from(data["machines"]["worker"]["names"])))
    before, after = make_plan(build_site(data)), make_plan(build_site(less))
    assert all(before.hosts[name].interfaces == host.interfaces for name, host in after.hosts.items())


scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(),
    st.text(max_size=12),
    st.sampled_from(
        [
            "10.0.0.0/8",
            "10.96.8.0/24",
            "0.0.0.0/0",
            "1-2",
            "9-1",
            "a-[1:3]",
            "r1",
            "control",
            "lab",
            "99999-0",
            "0-0",
            "::1",
        ]
    ),
    st.dates(),
    st.binary(max_size=4),
)
junk = st.recursive(
    scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=8), inner, max_size=3)),
    max_leaves=6,
)


def places(value: Any, way: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the way to every part of ``value``."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [way, *(place for key, part in inner for place in places(part, (*way, key)))]


def parts(value: Any) -> list[Any]:
    """Return every part of ``value``, itself included."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [value, *(part for one in inner for part in parts(one))]


KNOWN = [part for name in sorted(EXAMPLES) for part in parts(EXAMPLES[name])]


@st.composite
def mutations(draw: st.DrawFn) -> Any:
    """Draw an example site with one to three parts replaced, removed, renamed, doubled or swapped."""
    data = copy.deepcopy(EXAMPLES[draw(st.sampled_from(sorted(EXAMPLES)))])
    for _step in range(draw(st.integers(1, 3))):
        way = draw(st.sampled_from([place for place in places(data) if place] or [()]))
        if not way:
            return draw(junk)
        part = data
        for key in way[:-1]:
            part = part[key]
        kind = draw(st.sampled_from(["junk", "remove", "rename", "alike", "alike", "alike", "number"]))
        if kind == "remove":
            del part[way[-1]]
        elif kind == "rename" and isinstance(part, dict):
            part[draw(st.text(max_size=10))] = part.pop(way[-1])
        elif kind in ("alike", "number") and type(part[way[-1]]) is int:
            part[way[-1]] = draw(st.integers(-1, 70))
        elif kind != "junk":
            part[way[-1]] = copy.deepcopy(
                draw(st.sampled_from([one for one in KNOWN if type(one) is type(part[way[-1]])] or [None]))
            )
        else:
            part[way[-1]] = draw(junk)
    return data


def planned_or_refused(data: Any) -> None:
    """Go all the way from data to everything made of a plan; only `SiteError` may come of it."""
    try:
        plan = with_values(make_plan(build_site(data)))
    except SiteError as error:
        unexplained = [problem for problem in error.problems if not (problem.reason and problem.remedy)]
        if unexplained or not error.problems:
            raise AssertionError(str(error)) from error
        return
    to_json(plan)
    topology_svg(plan)
    table(plan.findings)


@settings(max_examples=300)
@given(mutations())
def test_every_mutation_of_a_site_gives_a_plan_or_a_site_error(data: Any) -> None:
    planned_or_refused(data)


@settings(max_examples=200)
@given(junk)
def test_any_data_gives_a_plan_or_a_site_error(data: Any) -> None:
    planned_or_refused(data)


@settings(max_examples=300)
@given(st.data())
def test_any_change_of_the_text_gives_a_plan_or_a_site_error(draw: st.DataObject) -> None:
    text = (ROOT / "inventories/lab/site.yml").read_bytes()
    for _step in range(draw.draw(st.integers(1, 4))):
        place = draw.draw(st.integers(0, len(text)))
        length = draw.draw(st.integers(0, 6))
        text = text[:place] + draw.draw(st.binary(max_size=6)) + text[place + length :]
    try:
        make_plan(parse_site(text))
    except SiteError as error:
        str(error)
