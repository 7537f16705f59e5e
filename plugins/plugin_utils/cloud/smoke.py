"""A tenant's first steps, from a project of its own to bytes through a floating IP. Nothing stays behind."""

from __future__ import annotations

import hashlib
import os
import secrets
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ...module_utils._base.wait import wait_until
from . import faults
from .connection import as_user
from .guest import Guest, make_key
from .steps import SmokeError, Step, Steps, interruptible
from .sweep import description, leftovers, sweep

_CIDR = "192.168.123.0/24"  # behind a router with address translation: nobody else sees it
_MEMBER = ("member", "_member_")  # names of a tenant's role
_METADATA = "http://169.254.169.254/openstack/latest/meta_data.json"
_MEGABYTE = 1_000_000
_EARLY = 60.0  # seconds without an answer until what is known is shown
_PAYLOAD_TIMEOUT = 300.0  # seconds each way


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What is proven, and with what."""

    image: Path
    user: str
    network: str = ""  # external; "": the first one
    host: str = ""  # "": the scheduler's choice
    payload_mb: int = 20
    memory_mb: int = 128
    disk_gb: int = 1
    timeout: float = 300.0
    keep: bool = False
    metadata_url: str = ""  # of Nova's metadata service, where it is known


@dataclass(slots=True)
class Proof:
    """One tenant."""

    admin: Any
    options: Options
    steps: Steps
    directory: Path
    name: str = field(default_factory=lambda: f"smoke-{secrets.token_hex(4)}")
    tenant: Any = None
    project: str = ""
    mtu: int = 1500  # of the tenant's network
    password: str = field(default_factory=lambda: secrets.token_urlsafe(24), repr=False)

    def walk(self) -> dict[str, Any]:
        """Return what answered. Raises SmokeError."""
        self._account()
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
        with self.steps.step("image", layer="image") as step:
            image = self._image()
            step.detail = f"{self.options.image.stat().st_size / _MEGABYTE:.0f} MB"
        with self.steps.step("flavor", layer="compute"):
            flavor = self._flavor()
        asked = time.monotonic()
        with self.steps.step("instance", layer="compute") as step:
            server, host = self._instance(network, image, flavor)
            step.detail = f"ACTIVE on {host}"
        with self.steps.step("floating IP", layer="network") as step:
            address = self._floating_ip(external, server)
            step.detail = address
        guest = Guest(address=address, user=self.options.user, directory=self.directory)
        with self.steps.step("ssh", layer="guest") as step:
            step.detail = self._answers(guest, server)
        seconds = round(time.monotonic() - asked, 1)
        with self.steps.step("metadata", layer="metadata") as step:
            step.detail = self._metadata(guest, server)
        self._payload(guest)
        said = f"{self.options.payload_mb} MB both ways, {seconds:.0f} s from request to SSH"
        line = f"instance {self.name} on {host} answered at {address}: {said}"
        return {"instance": self.name, "host": host, "address": address, "seconds": seconds, "msg": line}

    def _account(self) -> None:
        """Make project and user, and log in."""
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
            # Only an administrator may say where an instance goes.
            wanted = (_MEMBER, ("admin",)) if self.options.host else (_MEMBER,)
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
            hw_rng_model="virtio",  # without randomness sshd waits half a minute for some
        )  # fmt: skip

    def _flavor(self) -> Any:
        compute = self.admin.compute
        flavor = compute.create_flavor(
            name=self.name, ram=self.options.memory_mb, vcpus=1, disk=self.options.disk_gb, is_public=False
        )  # fmt: skip
        compute.flavor_add_tenant_access(flavor, self.project)
        return flavor

    def _instance(self, network: Any, image: Any, flavor: Any) -> tuple[Any, str]:
        place = {"availability_zone": f":{self.options.host}"} if self.options.host else {}
        compute = self.tenant.compute
        server = compute.create_server(
            name=self.name, image_id=image["id"], flavor_id=flavor["id"], key_name=self.name,
            networks=[{"uuid": network["id"]}], security_groups=[{"name": self.name}], **place,
        )  # fmt: skip

        def status() -> str:
            return str(compute.get_server(server["id"])["status"])

        wait_until(lambda: status() not in ("ACTIVE", "ERROR"), timeout=self.options.timeout, pause=1.0)
        if status() != "ACTIVE":
            seen = faults.gather(self.admin, self.tenant, server, flavor=flavor)
            raise faults.not_active(seen, timeout=self.options.timeout)
        return server, str(self.admin.compute.get_server(server["id"])["compute_host"])

    def _floating_ip(self, external: Any, server: Any) -> str:
        port = next(iter(self.tenant.network.ports(device_id=server["id"])))
        found = self.tenant.network.create_ip(floating_network_id=external["id"], port_id=port["id"])
        return str(found["floating_ip_address"])

    def _answers(self, guest: Guest, server: Any) -> str:
        """Return name and address in the guest's own words."""
        answers = [""]

        def silent() -> str:
            said = guest.ask("hostname; ip -o -4 addr show scope global")
            answers[0] = said.data.decode(errors="replace")
            return said.fault

        early, said_before = min(_EARLY, self.options.timeout), False
        for patience in (early, self.options.timeout - early):
            if not (fault := wait_until(silent, timeout=patience, pause=1.0)):
                break
            seen = faults.gather(
                self.admin, self.tenant, server, address=guest.address, ssh=fault, mtu=self.mtu,
                metadata_url=self.options.metadata_url,
            )  # fmt: skip
            if said_before:
                raise faults.unanswered(seen, timeout=self.options.timeout)
            said_before = True
            self.steps.say(f"[smoke] no answer after {early:g} s; so far:\n    " + "\n    ".join(seen.lines()))
        name, *lines = answers[0].splitlines() or [""]
        words = [line.split() for line in lines]
        return " ".join([f"the guest is {name}", *(line[3] for line in words if len(line) > 3)])

    def _metadata(self, guest: Guest, server: Any) -> str:
        said = guest.ask(f"wget -q -T 5 -O - {_METADATA} || curl -s -m 5 {_METADATA}")
        if str(server["id"]) in said.data.decode(errors="replace"):
            return "the metadata service knows it"
        return "the service does not answer the guest; name and key came from a config drive"

    def _payload(self, guest: Guest) -> None:
        size = self.options.payload_mb * _MEGABYTE
        payload = self.directory / "payload"
        payload.write_bytes(os.urandom(size))
        wanted = hashlib.sha256(payload.read_bytes()).hexdigest()
        with self.steps.step("payload there", layer="network") as step:
            self._compare(step, guest, wanted, *guest.store(payload, timeout=_PAYLOAD_TIMEOUT))
        with self.steps.step("payload back", layer="network") as step:
            self._compare(step, guest, wanted, *guest.fetch(timeout=_PAYLOAD_TIMEOUT))
        for step in self.steps.done[-2:]:
            step.detail = f"{self.options.payload_mb / max(step.seconds, 0.1):.1f} MB/s"

    def _compare(self, step: Step, guest: Guest, wanted: str, found: str, fault: str) -> None:
        if fault or found != wanted:
            sizes = faults.pings(guest.address, mtu=self.mtu)
            hole = faults.black_hole(sizes)
            offloads = "offloads: with datapath netdev other_config:userspace-tso-enable; "
            raise SmokeError(
                f"{step.name}: {fault or 'its SHA-256 is another'}, although ssh answers{hole and f'; {hole}'}",
                layer="network", where=f"instance {self.name}, {self.options.payload_mb} MB",
                details=tuple(f"ping with {size} bytes: {said or 'answers'}" for size, said in sizes.items()),
                remedy=("" if hole else offloads) + faults.tunnels(self.mtu),
            )  # fmt: skip
        step.detail = f"{self.options.payload_mb} MB, SHA-256 as sent"


def smoke(admin: Any, options: Options, steps: Steps) -> dict[str, Any]:
    """Return what answered, after all of it is deleted. Raises SmokeError, KeyboardInterrupt by a signal."""
    with tempfile.TemporaryDirectory(prefix="groundup-smoke-") as directory, interruptible() as deaf:
        proof = Proof(admin, options, steps, Path(directory))
        left: list[str] = []
        try:
            with steps.step("leftovers", layer="identity") as step:
                found = sorted(set(leftovers(admin)))
                left += [line for name in found for line in sweep(admin, name)]
                step.detail = f"removed {', '.join(found)}" if found else "none"
            answered = proof.walk()
        finally:
            deaf()
            left += _end(proof)
    if left:
        raise SmokeError(
            "it answered, and not all of it could be deleted",
            layer="compute", where=", ".join(left), remedy="delete it by hand, or run this again, which tries again",
        )  # fmt: skip
    return answered


def _end(proof: Proof) -> list[str]:
    if proof.options.keep:
        proof.steps.say(f"[smoke] kept: project and user {proof.name}; the next run deletes it")
        return []
    left: list[str] = []
    with suppress(SmokeError), proof.steps.step("deletion", layer="compute") as step:
        left = sweep(proof.admin, proof.name)
        step.detail = f"{len(left)} left" if left else "nothing is left"
    for line in left:
        proof.steps.say(f"[smoke] not deleted: {line}")
    return left
