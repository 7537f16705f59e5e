"""A test tenant: a project with its own user, and everything an instance needs."""

from __future__ import annotations

import os
import secrets
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from . import signing
from .connection import ERRORS, as_user, said
from .guest import make_key
from .steps import SmokeError, Steps
from .sweep import description

_CIDR = "192.168.123.0/24"  # behind NAT: not visible outside
_MEMBER = ("member", "_member_")  # names of the tenant role
MEGABYTE = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class TenantOptions:
    """Options of the smoke test."""

    image: Path
    user: str
    network: str = ""  # external; "": the first one
    host: str = ""  # "": the scheduler's choice
    payload_mb: int = 20
    memory_mb: int = 128
    disk_gb: int = 1
    timeout: float = 300.0
    keep: bool = False
    thorough: bool = False  # consoles and a live migration, too
    console: bool = True  # whether a console proxy is deployed, if known
    metadata_url: str = ""  # of Nova's metadata service, if known
    signed: bool = False  # whether the image is to be: hypervisors start no other


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """Resources that an instance needs, as openstacksdk's objects."""

    network: Any
    external: Any
    image: Any
    flavor: Any


@dataclass(slots=True)
class Tenant:
    admin: Any
    options: TenantOptions
    steps: Steps
    directory: Path
    name: str = field(default_factory=lambda: f"smoke-{secrets.token_hex(4)}")
    tenant: Any = None
    project: str = ""
    mtu: int = 1500  # of the tenant's network
    signature: dict[str, str] = field(default_factory=dict)  # properties of a signed image
    password: str = field(default_factory=lambda: secrets.token_urlsafe(24), repr=False)

    def prepare(self, *, chooses: bool) -> Ground:
        """Create everything an instance needs. ``chooses``: the tenant chooses hosts. Raises SmokeError."""
        self._account(chooses=chooses)
        with self.steps.step("keypair", layer="compute"):
            self.tenant.compute.create_keypair(name=self.name, public_key=make_key(self.directory, self.name))
        with self.steps.step("security group", layer="network"):
            self._security_group()
        with self.steps.step("network", layer="network") as step:
            network, subnet = self._network()
            self.mtu = int(network["mtu"] or self.mtu)
            step.detail = f"{_CIDR}, MTU {self.mtu}"
        with self.steps.step("router", layer="network") as step:
            external = self._external()
            self._router(external, subnet)
            step.detail = f"gateway in {external['name']}"
        if self.options.signed:
            with self.steps.step("signature", layer="image"):
                readers = [str(self.admin.current_user_id)]  # who moves an instance fetches its image
                self.signature = signing.sign(self.tenant, self.options.image, name=self.name, readers=readers)
        with self.steps.step("image", layer="image") as step:
            image = self._image()
            step.detail = f"{self.options.image.stat().st_size / MEGABYTE:.0f} MB"
        with self.steps.step("flavor", layer="compute"):
            flavor = self._flavor()
        return Ground(network=network, external=external, image=image, flavor=flavor)

    def create(self, ground: Ground, *, name: str, host: str = "") -> Any:
        """Request an instance, on ``host`` if given; do not wait for it."""
        place = {"availability_zone": f":{host}"} if host else {}
        return self.tenant.compute.create_server(
            name=name, image_id=ground.image["id"], flavor_id=ground.flavor["id"], key_name=self.name,
            networks=[{"uuid": ground.network["id"]}], security_groups=[{"name": self.name}], **place,
        )  # fmt: skip

    def forget(self) -> list[str]:
        """Delete the certificate, which is the tenant's alone; return what could not be deleted, and why."""
        try:
            if self.signature:
                signing.forget(self.tenant, self.signature)
        except ERRORS as error:
            return [f"certificate {self.signature[signing.CERTIFICATE]}: {said(error)}"]
        return []

    def floating_ip(self, ground: Ground, server: Any) -> str:
        """Assign a floating IP to an instance; return the address."""
        port = next(iter(self.tenant.network.ports(device_id=server["id"])))
        found = self.tenant.network.create_ip(floating_network_id=ground.external["id"], port_id=port["id"])
        return str(found["floating_ip_address"])

    def _account(self, *, chooses: bool) -> None:
        """Create project and user, and log in."""
        with self.steps.step("project", layer="identity") as step:
            mark, identity = description(os.getpid()), self.admin.identity
            domain = identity.get_project(self.admin.current_project_id)["domain_id"]
            self.project = identity.create_project(name=self.name, domain_id=domain, description=mark)["id"]
            step.detail = self.name
        with self.steps.step("user", layer="identity"):
            user = identity.create_user(
                name=self.name, password=self.password, domain_id=domain, description=mark,
                default_project_id=self.project,
            )  # fmt: skip
            # Only an administrator may choose an instance's host.
            wanted = (_MEMBER, ("admin",)) if chooses else (_MEMBER,)
            for names in wanted:
                identity.assign_project_role_to_user(self.project, user, self._role(names))
            self.tenant = as_user(self.admin, user_id=user["id"], password=self.password, project_id=self.project)
            self.tenant.authorize()

    def _role(self, names: tuple[str, ...]) -> Any:
        roles = list(self.admin.identity.roles())
        for role in roles:
            if str(role["name"]).lower() in names:
                return role
        raise SmokeError(
            f"there is no role {names[0]}, only {', '.join(str(one['name']) for one in roles)}",
            layer="identity", where="Keystone", remedy=f"openstack role create {names[0]}",
        )  # fmt: skip

    def _security_group(self) -> None:
        network = self.tenant.network
        group = network.create_security_group(name=self.name)
        for protocol, port in (("icmp", None), ("tcp", 22)):
            ports = {} if port is None else {"port_range_min": port, "port_range_max": port}
            network.create_security_group_rule(
                security_group_id=group["id"], direction="ingress", ether_type="IPv4", protocol=protocol, **ports
            )

    def _network(self) -> tuple[Any, Any]:
        network = self.tenant.network.create_network(name=self.name)
        subnet = self.tenant.network.create_subnet(
            name=self.name, network_id=network["id"], ip_version=4, cidr=_CIDR
        )  # fmt: skip
        return network, subnet

    def _external(self) -> Any:
        wanted = self.options.network
        for one in self.tenant.network.networks(is_router_external=True):
            if wanted in ("", one["name"], one["id"]):
                return one
        raise SmokeError(
            f"there is no external network {wanted}".rstrip(),
            layer="network", where="Neutron",
            remedy="run the playbook groundup.cloud.openstack, which makes the plan's, or name another one",
        )  # fmt: skip

    def _router(self, external: Any, subnet: Any) -> None:
        gateway = {"network_id": external["id"]}
        router = self.tenant.network.create_router(name=self.name, external_gateway_info=gateway)
        self.tenant.network.add_interface_to_router(router, subnet=subnet["id"])

    def _image(self) -> Any:
        return self.tenant.image.create_image(
            self.name, filename=str(self.options.image), disk_format="qcow2", container_format="bare",
            visibility="private", allow_duplicates=True, wait=True, timeout=self.options.timeout,
            hw_rng_model="virtio",  # without it sshd waits half a minute for entropy
            **self.signature,
        )  # fmt: skip

    def _flavor(self) -> Any:
        compute = self.admin.compute
        flavor = compute.create_flavor(
            name=self.name, ram=self.options.memory_mb, vcpus=1, disk=self.options.disk_gb, is_public=False
        )  # fmt: skip
        compute.flavor_add_tenant_access(flavor, self.project)
        return flavor
