"""The virtual IP for users: what HAProxy and keepalived are told of it, and what a host lets in there."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from ansible_collections.groundup.cloud.plugins.filter.edge_faults import edge_faults
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.module_utils._base.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.module_utils._edge import public
from ansible_collections.groundup.cloud.plugins.module_utils._host import guard as guards
from ansible_collections.groundup.cloud.plugins.module_utils._host import interfaces

from .rendering import KEYSTONE, render, section

USERS = {"address": "192.0.2.2", "network": "users", "cidr": "192.0.2.0/24", "gateway": "192.0.2.1", "router_id": 3}


def test_users_have_port_443_of_the_public_names_alone_at_an_address_of_their_own() -> None:
    endpoints = [
        {**KEYSTONE, "internal": False},
        {**KEYSTONE, "type": "placement", "name": "placement.lab.test", "internal": True},
    ]
    text = render("haproxy.cfg.j2", control=["control-1"], endpoints=endpoints, users=USERS)
    assert re.findall(r"bind 192\.0\.2\.2:(\d+)", text) == ["443"]
    assert "bind 10.0.0.2:443 " in section(text, "frontend public")
    (hidden,) = [line for line in text.splitlines() if "{ dst 192.0.2.2 }" in line]
    assert "placement.lab.test" in hidden
    assert "status 421" in hidden


def test_the_address_of_users_moves_by_itself_and_its_adverts_stay_among_the_hosts() -> None:
    text = render("keepalived.conf.j2", control=["control-1", "control-2"], users=USERS)
    instance = text.partition("vrrp_instance public {")[2]
    assert "    interface @INTERFACE@\n    virtual_router_id 3\n" in instance
    assert "track_interface {\n        @PUBLIC_INTERFACE@\n" in instance
    assert "unicast_peer {\n        10.0.0.12\n" in instance
    assert "default via 192.0.2.1 dev @PUBLIC_INTERFACE@ table 143\n" in instance
    assert text.count("vrrp_script haproxy") == 1
    assert "virtual_routes" not in render("keepalived.conf.j2", control=["control-1"], users=USERS | {"gateway": None})


def test_without_such_a_network_nothing_of_it_is_written() -> None:
    for template in ("haproxy.cfg.j2", "keepalived.conf.j2"):
        text = render(template, control=["control-1", "control-2"])
        assert "192.0.2" not in text
        assert "PUBLIC" not in text
        assert "vrrp_instance public" not in text


def test_a_host_whose_management_address_needs_no_keepalived_has_only_that_of_users() -> None:
    text = render("keepalived.conf.j2", control=["control-1"], users=USERS, own=False)
    assert re.findall(r"vrrp_instance (\w+)", text) == ["public"]
    assert "10.0.0.2/32" not in text


@pytest.mark.parametrize(
    ("addresses", "well"),
    [
        ({"pub0": ["192.0.2.11/24"]}, True),
        ({"pub0": ["192.0.2.11/24", "192.0.2.2/32"]}, True),  # it holds the virtual IP
        ({"pub0": ["192.0.2.11/24", "10.0.1.11/24"]}, False),
        ({"pub0": ["192.0.2.11/24", "10.0.0.11/24"]}, False),
    ],
)
def test_an_interface_that_users_share_with_another_network_is_refused(
    monkeypatch: pytest.MonkeyPatch, addresses: dict[str, list[str]], well: bool
) -> None:
    every = {"mgmt0": ["10.0.0.11/24"]} | addresses
    links = [
        {"ifname": name, "addr_info": [dict(zip(("local", "prefixlen"), one.split("/"), strict=True)) for one in own]}
        for name, own in every.items()
    ]

    def said(argv: list[str]) -> str:
        return json.dumps([one for one in links if one["ifname"] == argv[-1]] if "dev" in argv else links[::-1])

    for module in (interfaces, public):
        monkeypatch.setattr(module, "run", said)
    if well:
        assert public.interface("192.0.2.11", management="10.0.0.11") == "pub0"
    else:
        with pytest.raises(GroundupError, match=r"pub0 is the interface of the public network, and has 10\.0\."):
            public.interface("192.0.2.11", management="10.0.0.11")


@pytest.mark.parametrize(("holders", "well"), [(["control-2"], True), ([], False), (["control-1", "control-2"], False)])
def test_one_control_host_holds_the_address_of_users(holders: list[str], well: bool) -> None:
    hosts = ["control-1", "control-2"]
    states = {
        host: {"edge_state": {"holds_address": host == "control-1", "holds_public": host in holders, "listeners": {}}}
        for host in hosts
    }
    found = edge_faults(states, hosts, control=hosts, address="10.0.0.2", public="192.0.2.2")
    assert (found == []) is well, found
    assert all("192.0.2.2" in one for one in found)


def test_a_host_of_a_site_without_such_a_network_any_more_keeps_no_rule(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    guard = replace(public.GUARD, rules=tmp_path / "public.nft", unit=tmp_path / "groundup-public.service")
    monkeypatch.setattr(public, "GUARD", guard)
    stopped: list[str] = []
    asked: list[list[str]] = []
    monkeypatch.setattr(guards, "off", lambda _, names: stopped.extend(names))
    monkeypatch.setattr(guards, "attempt", asked.append)
    never = Changes(check=False)
    public.converge(never, "")
    assert (never.done, stopped, asked) == ([], [], []), "a site that never had one asks nothing"
    for path in (guard.rules, guard.unit):
        path.write_text("x")
    foreseen = Changes(check=True)
    public.converge(foreseen, "")
    assert len(foreseen.done) == 2
    assert asked == []
    assert guard.rules.exists()
    public.converge(Changes(check=False), "")
    assert not guard.rules.exists()
    assert not guard.unit.exists()
    assert asked == [["nft", "delete", "table", "inet", "groundup_public"]]
    again = Changes(check=False)
    public.converge(again, "")
    assert again.done == []
