"""Find and delete everything that a smoke test created: after success, failure, or a killed run.

A smoke test's project is recognized by name and description. Its contents are deleted in reverse order.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NoReturn

from openstack.exceptions import SDKException

from ...module_utils._base.wait import wait_until
from ..kube.run_lease import abandoned
from ..lifetime import identity
from .connection import ERRORS, said

MARK = "groundup.cloud.tenant_smoke"
_NAME = re.compile(r"smoke-[0-9a-f]{8}")
_WAIT = 120.0  # seconds for an instance, or a volume, to be gone


def description(pid: int) -> str:
    """Return the description of a test's project and user: our mark, and the process that made them."""
    return f"{MARK} {identity(pid)}"


def leftovers(admin: Any) -> Iterator[str]:
    """Yield names of tests whose process on this machine is dead. Other machines' tests stay: they may still run."""
    for kind in (admin.identity.projects, admin.identity.users):
        yield from (str(one["name"]) for one in kind() if is_leftover(one))


def is_leftover(entry: Any) -> bool:
    """Return whether a project or user was made by a test that no longer runs."""
    mark, _, owner = str(entry["description"] or "").partition(" ")
    host, boot = (*identity(os.getpid()).split("/"), "")[:2]
    before = owner.startswith(f"{host}/") and not owner.startswith(f"{host}/{boot}/")  # before this machine restarted
    dead = before or abandoned({"spec": {"holderIdentity": owner}})
    return bool(_NAME.fullmatch(str(entry["name"]))) and mark == MARK and dead


@dataclass(slots=True)
class Sweep:
    """Deletions by the administrator, with what could not be deleted."""

    admin: Any
    left: list[str] = field(default_factory=list)

    def gone(self, what: str, items: Callable[[], Iterable[Any]], delete: Callable[[Any], Any]) -> None:
        """Delete each of ``items``; record failures."""
        try:
            for item in list(items()):
                try:
                    delete(item)
                except ERRORS as error:
                    self.left.append(f"{what} {item['name']} ({item['id']}): {said(error)}")
        except ERRORS as error:
            self.left.append(f"{what}: {said(error)}")

    def project(self, project: str) -> None:
        """Delete everything in a project. Its id is compared here, too: the administrator sees all projects."""
        compute, network = self.admin.compute, self.admin.network
        has_volumes = self.admin.has_service("block-storage")

        def within(find: Callable[..., Iterable[Any]], key: str = "project_id", **query: Any) -> list[Any]:
            return [one for one in find(**query, **{key: project}) if one[key] == project]

        def servers() -> list[Any]:
            return within(compute.servers, all_projects=True)

        def volumes() -> list[Any]:
            return within(self.admin.block_storage.volumes, all_projects=True) if has_volumes else []

        def router(one: Any) -> None:
            for port in network.ports(device_id=one["id"]):
                if port["device_id"] == one["id"] and "router_interface" in port["device_owner"]:
                    network.remove_interface_from_router(one, port=port["id"])
            network.delete_router(one)

        def ports() -> list[Any]:  # without those that Neutron deletes itself
            return [one for one in within(network.ports) if not str(one["device_owner"] or "").startswith("network:")]

        self.gone("floating IP", lambda: within(network.ips), network.delete_ip)
        self.gone("instance", servers, compute.delete_server)
        self.gone("instance", lambda: wait_until(servers, timeout=_WAIT, pause=1.0), _stays)
        self.gone("volume", volumes, lambda one: self.admin.block_storage.delete_volume(one, force=True))
        # Before images: an image with cloned volumes cannot be deleted.
        self.gone("volume", lambda: wait_until(volumes, timeout=_WAIT, pause=1.0), _stays)
        self.gone("image", lambda: within(self.admin.image.images, "owner"), self.admin.image.delete_image)
        self.gone("router", lambda: within(network.routers), router)
        self.gone("port", ports, network.delete_port)
        self.gone("network", lambda: within(network.networks), network.delete_network)
        self.gone("security group", lambda: within(network.security_groups), network.delete_security_group)


def sweep(admin: Any, name: str) -> list[str]:
    """Delete the smoke test called ``name``; return what could not be deleted, and why."""
    sweeping = Sweep(admin)
    identity = admin.identity
    found: dict[str, list[Any]] = {"user": [], "project": []}
    for kind, find in (("user", identity.users), ("project", identity.projects)):
        sweeping.gone(kind, partial(_marked, find, name), found[kind].append)
    for project in found["project"]:
        sweeping.project(str(project["id"]))
    for user in found["user"]:
        mine = {"user_id": str(user["id"])}
        sweeping.gone("keypair", partial(_keypairs, admin, name, mine), partial(admin.compute.delete_keypair, **mine))
    # Nova's literal "None" lists private flavors, too.
    flavors = partial(admin.compute.flavors, is_public="None")
    sweeping.gone("flavor", lambda: [one for one in flavors() if one["name"] == name], admin.compute.delete_flavor)
    if not sweeping.left:  # else the rest could not be found again
        sweeping.gone("user", lambda: found["user"], identity.delete_user)
        sweeping.gone("project", lambda: found["project"], identity.delete_project)
    return sweeping.left


def _marked(find: Callable[..., Iterable[Any]], name: str) -> list[Any]:
    return [
        one for one in find(name=name) if one["name"] == name and str(one["description"] or "").startswith(f"{MARK} ")
    ]


def _keypairs(admin: Any, name: str, mine: dict[str, str]) -> list[Any]:
    return [one for one in admin.compute.keypairs(**mine) if one["name"] == name]


def _stays(_one: Any) -> NoReturn:
    raise SDKException(f"it is still there {_WAIT:g} s after its deletion")
