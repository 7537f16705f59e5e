"""A packet of full size to the next hypervisor: what is lost, and what is nobody's fault."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.action.hypervisor import underlay
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.module_utils._base.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.module_utils._host.probe import Echo
from ansible_collections.groundup.cloud.plugins.module_utils._hypervisor import mtu
from ansible_collections.groundup.cloud.plugins.plugin_utils.hypervisor.chassis import next_of

UNDERLAY = {"source": "10.0.1.1", "name": "hypervisor-2", "neighbour": "10.0.1.2", "mtu": 1500}


class Wire(Echo):
    """Carries packets up to a size."""

    def __init__(self, carries: int) -> None:
        super().__init__("10.0.1.1")
        self.carries = carries
        self.sizes: list[int] = []

    def lost(self, hosts: Iterable[str], *, size: int) -> dict[str, str]:
        self.sizes.append(size)
        return dict.fromkeys(hosts, "no answer") if size > self.carries else {}


def proven(carries: int, wanted: dict[str, Any] = UNDERLAY) -> tuple[list[str], list[int]]:
    changes, wire = Changes(check=False), Wire(carries)
    mtu.prove(changes, wanted, host="hypervisor-1", echo=lambda _: wire)
    return changes.warnings, wire.sizes


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mtu, "PATIENCE", 0.0)


def test_one_packet_is_the_proof() -> None:
    assert proven(1500) == ([], [1500])


def test_a_network_that_loses_whole_packets_is_refused_with_the_command_that_shows_it() -> None:
    with pytest.raises(GroundupError, match="1500 bytes to hypervisor-2 is lost, a small one arrives") as caught:
        proven(1450)
    assert "ping -M do -s 1472 -I 10.0.1.1 10.0.1.2" in caught.value.remedy


def test_a_neighbour_that_is_down_is_no_fault_of_this_host() -> None:
    (warning,), sizes = proven(0)
    assert "hypervisor-2 (10.0.1.2) does not answer" in warning
    assert sizes[-1] == 64


def test_an_address_that_comes_meanwhile_is_no_black_hole() -> None:
    class Late(Wire):
        def lost(self, hosts: Iterable[str], *, size: int) -> dict[str, str]:
            found = super().lost(hosts, size=size)
            self.carries = 1500  # from now on
            return found

    changes, wire = Changes(check=False), Late(0)
    mtu.prove(changes, UNDERLAY, host="hypervisor-1", echo=lambda _: wire)
    assert (changes.warnings, wire.sizes) == ([], [1500, 64, 1500])


def test_the_only_hypervisor_sends_nothing() -> None:
    assert proven(0, {}) == ([], [])


def test_each_asks_the_next_and_the_last_asks_the_first() -> None:
    names = ["a", "b", "c"]
    assert [next_of(one, names) for one in names] == ["b", "c", "a"]
    assert next_of("a", names, without=["b"]) == "c"
    assert next_of("a", ["a"]) == ""


def test_the_plan_says_addresses_and_size() -> None:
    def host(name: str, last: int) -> dict[str, Any]:
        tunnel = {"network": "tunnel", "address": f"10.0.1.{last}"}
        return {"name": name, "address": f"10.0.0.{last}", "interfaces": [tunnel]}

    hosts = {name: {"groundup_host": host(name, number)} for number, name in enumerate(("a", "b"), 1)}
    site = {"networks": {"tunnel": {"purpose": "tunnel"}}, "ovn": {"path_mtu": 9000}}
    variables = {"groundup_site": site, "hostvars": hosts, "groups": {"compute": ["a", "b"]}, **hosts["a"]}
    assert underlay(variables) == {"source": "10.0.1.1", "name": "b", "neighbour": "10.0.1.2", "mtu": 9000}
    assert underlay({**variables, "groups": {"compute": ["a", "b"], "absent": ["b"]}}) == {}
