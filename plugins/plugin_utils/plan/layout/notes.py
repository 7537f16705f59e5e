"""Findings about addresses and names, collected while machines are laid out."""

from __future__ import annotations

from ....module_utils._base.text import few
from ...layers.roles import Role
from ..form import error
from ..types import Finding, NetworkPlan
from .addresses import Share


def range_full(key: str, network: NetworkPlan, role: Role, share: Share, machines: list[str]) -> Finding:
    """Return the finding about a group with more machines than its role's share of a network has addresses."""
    who = few(machines, most=1)
    return error("address-range-full", key, f"networks.{network.name}")(
        what=f"{who} have no address on {network.name}: {role} machines have {share} of {network.cidr}",
        why="an address follows from a machine's number alone, so that adding one never moves another",
        remedy=f"write a wider networks.{network.name}.cidr, or networks.{network.name}.ranges.{role}: <first>-<last>",
    )


def name_twice(key: str, name: str, first_key: str) -> Finding:
    """Return the finding about two machines with the same name."""
    return error("duplicate-name", first_key, key)(
        what=f"the name {name} stands for two machines",
        why="a name is a host's identity in ssh, Kubernetes and the site's state; the second is left out of the plan",
        remedy="rename one of them, or its group",
    )


def rack_full(key: str, slots: int, machines: list[str]) -> Finding:
    """Return the finding about a rack with more machines than its block of addresses."""
    return error("rack-block-full", f"{key}.per_rack", f"{key}.slots_per_rack")(
        what=f"{few(machines, most=1)} have no address: a rack's block has {slots} places",
        why="a rack's machines have a block of their own, so that another rack never moves them",
        remedy=f"write {key}.slots_per_rack, which moves addresses of this group; or the rest as a group of its own",
    )


def machine_without_number(key: str, name: str) -> Finding:
    """Return the finding about a machine without a number and without an address."""
    return error("machine-without-number", key)(
        what=f"{name} has no address: nothing says its place in the address plan",
        why="the place must be its own: the position in a list would change for all when one is added",
        remedy=f"end its name (with per_rack: its rack's) in a number, or write machines.{name}.number in its group",
    )
