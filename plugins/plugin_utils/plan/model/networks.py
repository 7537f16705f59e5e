"""Networks and racks in the site file."""

from __future__ import annotations

from ipaddress import IPv4Address
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field

from ....module_utils._plan.container import Purpose
from ...layers.purposes import PURPOSES
from ...layers.roles import Role
from ..types import TenantNetwork
from .base import Address, Cidr, IdRange, InterfaceName, Model, Mtu, Name, Vlan, checked_address

_UNROUTED = [name for name, record in PURPOSES.items() if not record.routed]


def _address_range(value: str) -> str:
    if value.count("-") != 1:
        raise ValueError("a range has a first and a last address: write 10.0.0.100-10.0.0.199")
    first, last = (IPv4Address(checked_address(end)) for end in value.split("-"))
    if last < first:
        raise ValueError(f"the range ends before it starts: write {last}-{first}")
    return value


AddressRange = Annotated[
    str,
    AfterValidator(_address_range),
    Field(pattern=r"^[0-9.]{7,15}-[0-9.]{7,15}$", json_schema_extra={"examples": ["10.0.0.100-10.0.0.199"]}),
]
_Ranges = Annotated[list[AddressRange], Field(min_length=1, max_length=16)]


def listed(value: object) -> object:
    """Return a single text as a list of one."""
    return [value] if isinstance(value, str) else value


Pool = Annotated[_Ranges, BeforeValidator(listed, json_schema_input_type=AddressRange | _Ranges)]


def _router(value: str) -> str:
    return value if value == "none" else checked_address(value)


Router = Annotated[str, AfterValidator(_router), Field(json_schema_extra={"examples": ["10.0.0.1"]})]


class RackSubnet(Model):
    """One rack's subnet of a network."""

    cidr: Cidr = Field(description="IPv4 network, inside `cidr` of the network.")
    gateway: Address | None = Field(None, description="Router of the rack, its leaf. Default: its first address.")


class Network(Model):
    """One network: an IPv4 network with one purpose."""

    cidr: Cidr = Field(description="IPv4 network, address/length.")
    purpose: Purpose | None = Field(
        None, description="What the network carries. Default: its own name, when that is a purpose."
    )
    gateway: Router | None = Field(
        None,
        description="Router of this plane; none: it has no router, and hosts no default route. Default: its first "
        f"address; none on {', '.join(_UNROUTED[:-1])} and {_UNROUTED[-1]}.",
    )
    vlan: Vlan | None = Field(None, description="VLAN id on the wire. Default: untagged.")
    mtu: Mtu | None = Field(None, description="Bytes of payload a frame may carry. Default: 1500.")
    ranges: dict[Role, AddressRange] = Field(
        default_factory=dict,
        description="Addresses by role, first-last. Default: a fixed share of the network for each role.",
    )
    racks: dict[Name, RackSubnet] = Field(
        default_factory=dict,
        description="Subnets by rack, for a site that routes between racks: hosts have a route to `cidr` through their "
        "rack's router. Default: one segment for all racks.",
    )
    interface: InterfaceName | None = Field(
        None,
        description="Name of the interface on hosts made for the site. Default: by purpose (mgmt0, stor0, tnl0, ...). "
        "On an existing host, the interface that has the planned address.",
    )
    pool: Pool | None = Field(
        None,
        description="Addresses that are lent, one range or a list. On provisioning, one range: to unknown machines; "
        "default: the last eighth of the network. On provider: as floating IPs and to routers. Default: the whole "
        "network without its router and the site's own addresses, once; then what Neutron has, without the latter.",
    )
    default: bool | None = Field(
        None,
        description="provider only: whether it is the external network that Neutron takes when nobody names one "
        "(auto allocated topology); at most one is. false takes the mark back. Default: left as it is.",
    )
    vlan_range: IdRange | None = Field(
        None, description="provider only: VLAN ids that tenants' provider networks may use on it."
    )


class Rack(Model):
    """One rack: a failure domain."""

    number: Annotated[int, Field(ge=1, le=9999)] | None = Field(
        None,
        description="Place in the address plan, for per_rack. Default: the number at the end of the rack's name.",
    )
    room: Name | None = Field(
        None, description="Room or row of the rack; the availability zone of its hypervisors. Default: none."
    )


class SubnetPool(Model):
    """Addresses that projects get subnets of when they name none."""

    cidr: Cidr = Field(description="IPv4 network. Neutron adds to it later, and takes nothing back.")
    prefix: Annotated[int, Field(ge=16, le=29)] = Field(24, description="Length of a subnet that names no other.")


class Ovn(Model):
    """The tenants' network (OVN)."""

    tenant_network: TenantNetwork = Field("geneve", description="How tenants' networks cross hosts.")
    tunnel_ids: IdRange = Field(
        "1-65536",
        description="geneve: range of tunnel ids (VNI), one per tenant network. Neutron's database has a row for each.",
    )
    vlan_range: IdRange | None = Field(None, description="vlan: range of VLAN ids for tenants' networks.")
    max_header_size: Annotated[int, Field(ge=30, le=60)] = Field(
        38, description="Bytes of a Geneve header with OVN's options."
    )
    tenant_mtu: Mtu | None = Field(None, description="Default: the tunnels' MTU less their encapsulation.")
    distributed_floating_ip: bool = Field(True, description="Whether floating IP traffic leaves at the VM's own host.")
    bridge_mappings: dict[Name, Name] = Field(
        default_factory=dict,
        description="Physical network to provider network. Default: physnet1, physnet2, ... in order.",
    )
    subnet_pool: SubnetPool | None = Field(
        None,
        description="Default subnet pool of all projects. With a default external network, `openstack server create "
        "--nic auto` works. Default: Neutron's own stay as they are.",
    )
