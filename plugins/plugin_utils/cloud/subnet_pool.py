"""Create the plan's default subnet pool, and ask Neutron whether projects can have an automatic network."""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import IPv4Network, collapse_addresses
from typing import TYPE_CHECKING, Any

from openstack.exceptions import SDKException

from ...module_utils._base.changes import Changes
from ...module_utils._base.yaml_text import dump
from ..errors import GroundupError

if TYPE_CHECKING:
    from ..plan.types import Plan, SubnetPoolPlan

NAME = "tenants"
_WHERE = f"Neutron, subnet pool {NAME}"


def foresee(pool: SubnetPoolPlan, changes: Changes) -> None:
    """Record the pool that a cloud not deployed yet will get."""
    _create(pool, changes, default=True)


def converge(neutron: Any, pool: SubnetPoolPlan, changes: Changes, *, project: str) -> None:
    """Create or update the administrator's pool, never delete it. Another default pool of Neutron keeps the mark."""
    pools = list(neutron.subnet_pools())
    mine = next((one for one in pools if one["name"] == NAME and one["project_id"] == project), None)
    others = [one for one in pools if one["is_default"] and one["ip_version"] == 4 and one is not mine]
    if others:
        changes.warnings.append(
            f"subnet pool {others[0]['name']} is the default one and stays it, not {NAME}: to change that, "
            f"openstack subnet pool set --no-default {others[0]['id']}, then run this again"
        )
    if mine is None:
        if wanted := _create(pool, changes, default=not others):
            neutron.create_subnet_pool(**wanted)
        return
    found = {key: mine[key] for key in ("prefixes", "default_prefix_length", "is_default")}
    covered = _covering(found["prefixes"], pool.cidr)
    after = {
        "prefixes": covered,
        "default_prefix_length": pool.prefix,
        "is_default": found["is_default"] or not others,
    }
    if extra := [one for one in found["prefixes"] if not IPv4Network(one).subnet_of(IPv4Network(pool.cidr))]:
        changes.warnings.append(
            f"subnet pool {NAME} also has {', '.join(extra)}, from an older site file or by hand: Neutron takes no "
            "addresses out of a pool"
        )
    other = {key: value for key, value in after.items() if found[key] != value}
    shown = {key: found[key] for key in other}
    if other and changes.add(f"change subnet pool {NAME}", name=_WHERE, before=dump(shown), after=dump(other)):
        neutron.update_subnet_pool(mine, **other)


def verify(neutron: Any, plan: Plan, *, project: str) -> None:
    """Have Neutron check that a project can have an automatic network. Raises GroundupError."""
    if plan.ovn.subnet_pool is None or not any(network.default for network in plan.networks.values()):
        return
    try:
        neutron.validate_auto_allocated_topology(project)
    except SDKException as error:
        raise GroundupError(
            f"no project can have an automatic network: {getattr(error, 'details', None) or error}",
            where="Neutron, auto-allocated-topology",
            why="openstack server create --nic auto fails",
            remedy="mark a network and a subnet pool as default, or leave ovn.subnet_pool out",
        ) from error


def _create(pool: SubnetPoolPlan, changes: Changes, *, default: bool) -> dict[str, Any]:
    """Record the pool, and return what to make it with; {} in check mode."""
    wanted = {
        "name": NAME,
        "prefixes": [pool.cidr],
        "default_prefix_length": pool.prefix,
        "is_shared": True,
        "is_default": default,
    }
    return wanted if changes.add(f"create subnet pool {NAME} {pool.cidr}", name=_WHERE, after=dump(wanted)) else {}


def _covering(prefixes: Iterable[str], cidr: str) -> list[str]:
    """Return the prefixes of a pool that has ``cidr``, too: merged, as Neutron keeps them."""
    return [str(one) for one in collapse_addresses(map(IPv4Network, (*prefixes, cidr)))]
