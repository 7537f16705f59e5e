"""Create the plan's provider networks in Neutron, as external networks for tenants."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from ipaddress import IPv4Address, IPv4Network, ip_network
from typing import Any

from ...module_utils._base.changes import Changes
from ...module_utils._base.yaml_text import dump
from ..errors import GroundupError
from ..plan.layout.wires import tagged_by_hosts
from ..plan.types import NetworkPlan, Plan

_TAGGED = {"provider_network_type": "vlan"}
_FIXED = ("provider_network_type", "provider_physical_network", "provider_segmentation_id")


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderNetwork:
    """One network, in openstacksdk's fields."""

    name: str
    fixed: dict[str, Any]  # fields that Neutron cannot change
    network: dict[str, Any]
    cidr: str
    subnet: dict[str, Any] = field(default_factory=dict)
    held: tuple[str, ...] = ()  # addresses of the site's own, never lent
    planned: bool = False  # the site file says what is lent: another pool is set back
    default: bool | None = None  # whether it is to be the default external network; None: left as it is
    tagged: int | None = None  # VLAN that hosts make below it


def wanted(plan: Plan) -> Iterator[ProviderNetwork]:
    """Yield the plan's provider networks that have a bridge mapping."""
    for physical, name in sorted(plan.ovn.bridge_mappings.items()):
        network = plan.networks.get(name)
        if network is None or network.purpose != "provider":
            continue
        vlan = None if tagged_by_hosts(plan.hosts.values(), name) else network.vlan
        kind = "flat" if vlan is None else "vlan"
        yield ProviderNetwork(
            name=name,
            fixed=dict(zip(_FIXED, (kind, physical, vlan), strict=True)),
            network={"mtu": network.mtu, "is_router_external": True},
            cidr=network.cidr,
            subnet={
                "gateway_ip": network.gateway,
                "is_dhcp_enabled": False,
                "allocation_pools": [{"start": first, "end": last} for first, last in network.pools]
                or pools(network, held(plan, name)),
            },
            held=tuple(held(plan, name)),
            planned=bool(network.pools),
            default=network.default,
            tagged=None if vlan else network.vlan,
        )


def held(plan: Plan, network: str) -> Iterator[str]:
    """Yield the addresses of the plan's hosts and edge on ``network``."""
    for host in plan.hosts.values():
        yield from (one.address for one in host.interfaces if one.network == network and one.address)
    if plan.edge.network == network:
        yield plan.edge.address


def pools(network: NetworkPlan, taken: Iterable[str]) -> list[dict[str, str]]:
    """Return the allocation pools: ranges without ``taken`` and the gateway, in order."""
    whole = IPv4Network(network.cidr)
    gateway = (network.gateway,) if network.gateway else ()
    return list(_cut(str(whole[1]), str(whole[-2]), (*taken, *gateway)))


def without(subnet: Mapping[str, Any], taken: Iterable[str]) -> list[dict[str, str]]:
    """Return the allocation pools of ``subnet``, an operator's own perhaps, without ``taken``."""
    out = tuple(taken)
    return [part for one in subnet["allocation_pools"] for part in _cut(one["start"], one["end"], out)]


def _cut(first: str, last: str, taken: Iterable[str]) -> Iterator[dict[str, str]]:
    start, stop = IPv4Address(first), IPv4Address(last)
    for end in [*sorted({one for one in map(IPv4Address, taken) if start <= one <= stop}), stop + 1]:
        if start < end:
            yield {"start": str(start), "end": str(end - 1)}
        start = end + 1


def foresee(networks: Iterable[ProviderNetwork], changes: Changes) -> None:
    """Record the networks that a cloud not deployed yet will get."""
    for one in networks:
        _note(changes, one)
        if one.default:
            changes.add(_marked(one))


def converge(neutron: Any, networks: Iterable[ProviderNetwork], changes: Changes, *, project: str) -> None:
    """Create or update ``networks``; never delete. ``project``: the administrator's. Raises GroundupError."""
    # A mark is taken back before it is given.
    every = sorted(networks, key=lambda network: network.default is True)
    unmarked = {one.name for one in every if one.default is False}
    for one in every:
        found = _found(neutron, one, project)
        if found is None:
            if not _note(changes, one):
                _default(neutron, {"is_default": False}, one, changes, unmarked)
                continue
            found = neutron.create_network(name=one.name, **_given(one.fixed), **one.network)
            _subnet(neutron, found, one)
            _default(neutron, found, one, changes, unmarked)
            continue
        differs = {key: found[key] for key, value in one.fixed.items() if found[key] != value}
        if differs == _TAGGED | {"provider_segmentation_id": one.tagged}:
            changes.warnings.append(_twice_tagged(one))
        elif differs:
            raise _other(one, differs, one.fixed)
        if (other := _differs(found, one.network)) and _change(changes, f"network {one.name}", other, one.network):
            neutron.update_network(found, **{key: one.network[key] for key in other})
        _default(neutron, found, one, changes, unmarked)
        subnets = list(neutron.subnets(network_id=found["id"], ip_version=_version(one)))
        mine = next((each for each in subnets if each["cidr"] == one.cidr), None)
        if mine is None and subnets:
            raise _other(one, {"cidr": ", ".join(each["cidr"] for each in subnets)}, {"cidr": one.cidr})
        if mine is None:
            if changes.add(f"create subnet {one.cidr}", name=f"subnet of {one.name}", after=dump(one.subnet)):
                _subnet(neutron, found, one)
            continue
        taken = (*one.held, *filter(None, [one.subnet["gateway_ip"]]))  # Neutron wants the router outside, too
        subnet = one.subnet if one.planned else {**one.subnet, "allocation_pools": without(mine, taken)}
        if (other := _differs(mine, subnet)) and _change(changes, f"subnet {one.cidr}", other, subnet):
            neutron.update_subnet(mine, **{key: subnet[key] for key in other})


def _default(neutron: Any, found: Any, one: ProviderNetwork, changes: Changes, unmarked: Collection[str]) -> None:
    """Mark the network as the default external one, or take the mark back; another one that has it keeps it.

    ``unmarked``: networks that lose the mark in this run.
    """
    if one.default is None or bool(found["is_default"]) == one.default:
        return
    external = neutron.networks(is_router_external=True)
    others = [each["name"] for each in external if each["is_default"] and each["name"] not in unmarked]
    if one.default and others:
        changes.warnings.append(
            f"network {others[0]} is the default external network and stays it, not {one.name}: to change that, "
            f"openstack network set --no-default {others[0]}, then run this again"
        )
    elif changes.add(_marked(one)):
        neutron.update_network(found, is_default=one.default)


def _marked(one: ProviderNetwork) -> str:
    return f"{'make' if one.default else 'no longer have'} {one.name} the default external network"


def _found(neutron: Any, one: ProviderNetwork, project: str) -> Any | None:
    """Return the network of that name that is the administrator's, else an external one of its physical network.

    A tenant may call its network so, and share it with the administrator as an external one.
    """
    every = list(neutron.networks(name=one.name))
    same = [each for each in every if each["project_id"] == project]
    physical = one.fixed["provider_physical_network"]
    same = same or [each for each in every if each["is_router_external"]
                    and each["provider_physical_network"] == physical]  # fmt: skip
    if len(same) > 1:
        raise GroundupError(
            f"{len(same)} networks are called {one.name}",
            where=f"Neutron, networks {', '.join(each['id'] for each in same)}",
            why="which of them is the plan's cannot be told",
            remedy="rename or delete what the site does not need",
        )
    return same[0] if same else None


def _subnet(neutron: Any, network: Any, one: ProviderNetwork) -> None:
    neutron.create_subnet(
        network_id=network["id"], name=one.name, ip_version=_version(one), cidr=one.cidr, **one.subnet
    )  # fmt: skip


def _version(one: ProviderNetwork) -> int:
    return ip_network(one.cidr).version


def _given(values: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value is not None}


def _differs(found: Any, wanted_: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of ``found`` that differ from those wanted."""
    return {key: found[key] for key, value in wanted_.items() if _comparable(found[key]) != _comparable(value)}


def _comparable(value: Any) -> Any:
    """Return pools sorted, other values unchanged."""
    return sorted((one["start"], one["end"]) for one in value) if isinstance(value, list) else value


def _note(changes: Changes, one: ProviderNetwork) -> bool:
    return changes.add(f"create network {one.name}", name=f"network {one.name}", after=dump(asdict(one)))


def _change(changes: Changes, what: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> bool:
    shown = {key: after[key] for key in before}
    return changes.add(f"change {what}", name=what, before=dump(dict(before)), after=dump(shown))


def _twice_tagged(one: ProviderNetwork) -> str:
    """Return what is wrong with a network that an earlier version made, when hosts had the VLAN already."""
    return (
        f"network {one.name} has VLAN {one.tagged} in Neutron, and hosts have it below: packets leave with two tags. "
        "It stays, for Neutron cannot change that, and instances may be on it. To have one tag: take floating IPs, "
        f"routers' gateways and ports off it, openstack network delete {one.name}, then run this again"
    )


def _other(one: ProviderNetwork, found: Mapping[str, Any], wanted_: Mapping[str, Any]) -> GroundupError:
    words = "; ".join(f"{key} is {value}, the plan's {wanted_[key]}" for key, value in found.items())
    return GroundupError(
        f"network {one.name} is another one: {words}",
        where=f"Neutron, network {one.name}",
        why="Neutron cannot change that of a network, and instances may be on it",
        remedy="delete or rename the network when nobody uses it, or write what it is into the site file",
    )
