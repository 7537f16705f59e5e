"""What is in the cloud, in the site file: projects and what they have, and what an administrator gives to all."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from .base import Model, Mtu, Name, Vlan
from .cloud_types import (
    ICMP,
    OF_IPV6,
    WITH_PORTS,
    CloudFile,
    Dscp,
    ImageSource,
    Ip,
    Limit,
    Port,
    Prefix,
    Protocol,
    QuotaName,
    Range,
    ResourceName,
    Specs,
    SubnetPrefix,
)


class Described(Model):
    """Something with a description."""

    description: Annotated[str, Field(max_length=200, pattern=r"^[^\x00-\x1f]*$")] = Field(
        "", description="For people."
    )


class Switched(Described):
    """Something that can be switched off."""

    enabled: bool | None = Field(None, description="Whether it works. Default: as it is, a new one does.")


class CloudRole(Model):
    """A role that a group has."""

    group: ResourceName = Field(description="Name of the group.")
    group_domain: ResourceName | None = Field(None, description="Domain of the group. Default: that of the place.")
    role: ResourceName = Field(description="Role: reader, member, manager, admin or one of `cloud.roles`.")


class CloudDomain(Switched):
    """A domain: projects and groups with names of their own."""

    groups: dict[ResourceName, Described] = Field(default_factory=dict, description="Groups by name.")
    roles: list[CloudRole] = Field(default_factory=list, description="Roles of groups on the domain itself.")


class Quotas(Model):
    """Limits of a project, by service, in the names of its API; -1 is without limit. What is not written stays."""

    compute: dict[QuotaName, Limit] = Field(default_factory=dict, description="Nova: cores, ram (MiB), instances, ...")
    volume: dict[QuotaName, Limit] = Field(default_factory=dict, description="Cinder: volumes, gigabytes, ...")
    network: dict[QuotaName, Limit] = Field(default_factory=dict, description="Neutron: floatingip, router, port, ...")


class CloudSubnet(Described):
    """A subnet. At least one of cidr and pool."""

    cidr: SubnetPrefix | None = Field(None, description="Its addresses. Default: the next free ones of `pool`.")
    pool: ResourceName | None = Field(None, description="Subnet pool that they are of. Default: none.")
    prefix: Annotated[int, Field(ge=8, le=128)] | None = Field(
        None, description="Length, where the pool chooses the addresses. Default: the pool's."
    )
    gateway: Ip | Literal["none"] | None = Field(None, description="Router's address, or none. Default: the first one.")
    dhcp: bool | None = Field(
        None, description="Whether instances get their address by DHCP. Default: as it is, of a new one they do."
    )
    dns: list[Ip] = Field(default_factory=list, description="Name servers that instances are told.")
    ranges: list[Range] = Field(default_factory=list, description="Addresses for ports. Default: all but the gateway.")
    ipv6: Literal["slaac", "dhcpv6-stateful", "dhcpv6-stateless"] | None = Field(
        None, description="How instances get IPv6 addresses. Default: not by Neutron."
    )

    @model_validator(mode="after")
    def _addresses_from_somewhere(self) -> CloudSubnet:
        if not (self.cidr or self.pool) or (self.prefix and self.cidr):
            raise ValueError("write cidr, or pool with or without prefix, or cidr and pool")
        return self


class CloudNetwork(Switched):
    """A network of a project."""

    subnets: dict[ResourceName, CloudSubnet] = Field(default_factory=dict, description="Subnets by name.")
    mtu: Mtu | None = Field(None, description="Bytes. Default: the largest that fits.")
    shared: bool = Field(False, description="Whether every project may use it.")
    port_security: bool = Field(True, description="Whether security groups and address checks apply to new ports.")
    qos: ResourceName | None = Field(None, description="QoS policy. Default: none.")
    physical_network: Name | None = Field(None, description="Provider network: name in Neutron's bridge mappings.")
    vlan: Vlan | None = Field(None, description="VLAN of a provider network. Default: untagged.")


class CloudRouter(Switched):
    """A router of a project."""

    external: ResourceName | None = Field(None, description="External network. Default: no gateway.")
    subnets: list[ResourceName] = Field(default_factory=list, description="Subnets of the project that it joins.")


class GroupRule(Model):
    """A rule of a security group: who may connect."""

    direction: Literal["ingress", "egress"] = Field("ingress", description="ingress, to instances; egress, from them.")
    protocol: Protocol | None = Field(None, description="tcp, udp, icmp, ... Default: all.")
    ports: Annotated[list[Port], Field(min_length=1, max_length=2)] | None = Field(
        None, description="A port, or the first and the last; of ICMP its type, or type and code. Default: all."
    )
    cidr: Prefix | None = Field(None, description="The other side's addresses. Default: all.")
    group: ResourceName | None = Field(None, description="Instead: the other side's security group.")
    ipv6: bool = Field(False, description="Whether it is for IPv6; a rule is for one of both.")

    @model_validator(mode="after")
    def _one_rule(self) -> GroupRule:
        if self.cidr and self.group:
            raise ValueError("has cidr and group, and Neutron takes one of them: write two rules")
        if self.ports and self.protocol not in (*WITH_PORTS, *ICMP):
            raise ValueError(
                f"has ports, which {self.protocol or 'a rule of all protocols'} has not: write protocol: tcp"
            )
        if self.ports and self.protocol in WITH_PORTS and not 1 <= self.ports[0] <= self.ports[-1]:
            raise ValueError("has no such ports: write the first and the last, from 1 to 65535")
        if self.ports and self.protocol in ICMP and max(self.ports) > 255:
            raise ValueError("has no such type or code of ICMP: write numbers up to 255")
        if self.protocol in OF_IPV6 and not (self.ipv6 or ":" in (self.cidr or "")):
            raise ValueError(f"is for IPv4, which has no {self.protocol}: write ipv6: true")
        return self


class SecurityGroup(Described):
    """A security group. Beside these rules, instances may open any connection, as in a new group."""

    rules: list[GroupRule] = Field(default_factory=list, description="All of its rules.")


class DnsZone(Described):
    """A DNS zone (Designate)."""

    email: Annotated[str, Field(pattern=r"^[^@\s]+@[^@\s]+$")] = Field(
        description="Mail address of who answers for it."
    )
    ttl: Annotated[int, Field(ge=1, le=2**31 - 1)] = Field(3600, description="Seconds.")


class CloudCredential(Switched):
    """An account for a program, with an application credential. Its secrets are generated into the secrets store."""

    roles: Annotated[list[ResourceName], Field(min_length=1)] = Field(description="Its roles on the project.")


class CloudProject(Switched):
    """A project."""

    domain: ResourceName = Field("Default", description="Its domain: of `cloud.domains` or `identity`, or Default.")
    quotas: Quotas = Field(default_factory=Quotas, description="Limits.")
    roles: list[CloudRole] = Field(default_factory=list, description="Roles of groups on the project.")
    networks: dict[ResourceName, CloudNetwork] = Field(default_factory=dict, description="Networks by name.")
    routers: dict[ResourceName, CloudRouter] = Field(default_factory=dict, description="Routers by name.")
    security_groups: dict[ResourceName, SecurityGroup] = Field(default_factory=dict, description="By name.")
    dns_zones: dict[ResourceName, DnsZone] = Field(default_factory=dict, description="By name, such as a.example.org.")
    credentials: dict[Name, CloudCredential] = Field(default_factory=dict, description="Accounts of programs by name.")


class Flavor(Described):
    """A size of instances. Only extra specs, description and projects can be changed later."""

    vcpus: Annotated[int, Field(ge=1, le=4096)] = Field(description="Virtual cores.")
    memory_mb: Annotated[int, Field(ge=1, le=2**31 - 1)] = Field(description="Memory, MiB.")
    disk_gb: Annotated[int, Field(ge=0, le=2**31 - 1)] = Field(0, description="Disk, GiB; 0: the image's own size.")
    ephemeral_gb: Annotated[int, Field(ge=0, le=2**31 - 1)] = Field(0, description="Second disk, GiB.")
    swap_mb: Annotated[int, Field(ge=0, le=2**31 - 1)] = Field(0, description="Swap disk, MiB.")
    extra_specs: Specs = Field(default_factory=dict, description="Extra specs, all of them.")
    projects: list[ResourceName] = Field(default_factory=list, description="Who may use it. Default: everybody.")


class Image(Switched):
    """An image, by where it is and its digest."""

    source: ImageSource = Field(
        description="URL, absolute path on the control node, or artifact of a registry: oci://HOST/PATH:TAG."
    )
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")] = Field(description="Digest of its file.")
    format: Literal["qcow2", "raw", "iso", "vmdk", "vhd"] = Field("qcow2", description="Format of its file.")
    project: ResourceName | None = Field(None, description="Project that owns it. Default: the administrator's.")
    visibility: Literal["public", "private", "shared", "community"] | None = Field(
        None, description="Who sees it. Default: as it is, a new one is public."
    )
    min_disk_gb: Annotated[int, Field(ge=0, le=65536)] = Field(0, description="Smallest disk, GiB.")
    min_memory_mb: Annotated[int, Field(ge=0, le=2**31 - 1)] = Field(0, description="Least memory, MiB.")
    properties: Specs = Field(default_factory=dict, description="Properties, such as hw_rng_model. Others stay.")


class VolumeQos(Model):
    """Limits of volumes."""

    consumer: Literal["front-end", "back-end", "both"] = Field("front-end", description="Hypervisor, storage or both.")
    specs: Specs = Field(default_factory=dict, description="Limits, such as total_iops_sec.")


class Encryption(Model):
    """Encryption of a volume type, with keys in Barbican."""

    provider: Literal["luks", "luks2"] = Field("luks", description="Format.")
    cipher: Annotated[str, Field(pattern=r"^[a-z0-9-]+$")] = Field("aes-xts-plain64", description="Cipher.")
    key_size: Literal[128, 256, 512] = Field(256, description="Bits.")
    location: Literal["front-end", "back-end"] = Field("front-end", description="Where it is encrypted.")


class VolumeType(Described):
    """A kind of volumes."""

    backend: ResourceName | None = Field(None, description="Cinder's backend (volume_backend_name). Default: any.")
    extra_specs: Specs = Field(default_factory=dict, description="Further extra specs.")
    qos: ResourceName | None = Field(None, description="One of `cloud.volume_qos`. Default: no limit.")
    encryption: Encryption | None = Field(None, description="Default: none.")
    projects: list[ResourceName] = Field(
        default_factory=list, description="Who may use it. Default: everybody, or as it is."
    )


class CloudAggregate(Model):
    """Hypervisors with common properties, and perhaps an availability zone."""

    zone: ResourceName | None = Field(None, description="Availability zone. Default: none.")
    hosts: list[ResourceName] = Field(default_factory=list, description="Hypervisors, all of them.")
    metadata: Specs = Field(default_factory=dict, description="Properties that flavors ask for.")


class AddressScope(Model):
    """An address scope: addresses that are unique, and routed without NAT."""

    version: Literal[4, 6] = Field(4, description="Of IP.")
    shared: bool = Field(True, description="Whether every project may use it.")


class CloudSubnetPool(Described):
    """Addresses that subnets are of."""

    prefixes: Annotated[list[Prefix], Field(min_length=1)] = Field(description="Its networks. They can grow only.")
    prefix: Annotated[int, Field(ge=8, le=128)] = Field(24, description="Length of a subnet that says no other.")
    scope: ResourceName | None = Field(None, description="Address scope. Default: none.")
    shared: bool = Field(True, description="Whether every project may use it.")


class QosPolicy(Described):
    """A QoS policy of networks and ports."""

    kbps_in: Limit | None = Field(None, description="Bandwidth to instances, kbit/s. Default: no limit.")
    kbps_out: Limit | None = Field(None, description="Bandwidth from instances, kbit/s. Default: no limit.")
    dscp: Dscp | None = Field(None, description="DSCP mark of packets. Default: none.")
    shared: bool = Field(True, description="Whether every project may use it.")


class CloudResources(Model):
    """Resources of the cloud. Only what is written here, and was made from here, is touched."""

    files: list[CloudFile] = Field(
        default_factory=list, description="Further files of this form (without files), beside the site file."
    )
    domains: dict[ResourceName, CloudDomain] = Field(default_factory=dict, description="Domains by name.")
    roles: dict[ResourceName, Described] = Field(default_factory=dict, description="Roles of the site's own, by name.")
    projects: dict[ResourceName, CloudProject] = Field(default_factory=dict, description="Projects by name.")
    flavors: dict[ResourceName, Flavor] = Field(default_factory=dict, description="Flavors by name.")
    images: dict[ResourceName, Image] = Field(default_factory=dict, description="Images by name.")
    volume_qos: dict[ResourceName, VolumeQos] = Field(default_factory=dict, description="Limits of volumes by name.")
    volume_types: dict[ResourceName, VolumeType] = Field(default_factory=dict, description="Volume types by name.")
    aggregates: dict[ResourceName, CloudAggregate] = Field(default_factory=dict, description="Host aggregates by name.")
    address_scopes: dict[ResourceName, AddressScope] = Field(default_factory=dict, description="By name.")
    subnet_pools: dict[ResourceName, CloudSubnetPool] = Field(default_factory=dict, description="Subnet pools by name.")
    qos_policies: dict[ResourceName, QosPolicy] = Field(default_factory=dict, description="QoS policies by name.")


def merged(whole: dict[str, Any], more: dict[str, Any]) -> dict[str, Any]:
    """Return the resources of both by kind. Raises ValueError with the key that both have."""
    found = {kind: dict(value) if isinstance(value, dict) else value for kind, value in whole.items()}
    for kind, named in more.items():
        if not isinstance(named, dict):
            raise ValueError(kind)  # noqa: TRY004 - who calls says which file
        for name, value in named.items():
            if name in found.setdefault(kind, {}):
                raise ValueError(f"{kind}.{name}")
            found[kind][name] = value
    return found
