"""Make what tests need in a cloud, an administrator's account of their own among it; remove it, and what they left."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from openstack.exceptions import NotFoundException

from ..cloud.sweep import Sweep
from ..errors import GroundupError
from .program import Program
from .runs import RALLY_LOG, SuiteRun
from .settings import CloudFacts, Prepared
from .target import Target

if TYPE_CHECKING:
    from openstack.connection import Connection

_FLAVORS = (1.0, 1.5)  # memory of the two, as a share of what the guest needs
_VERSIONED = {"nova": "compute", "placement": "placement", "cinder": "block-storage"}


def ask(cloud: Connection, target: Target, *, network: str) -> CloudFacts:
    """Return what the cloud's APIs offer. Raises GroundupError when something is missing that the plan promises."""
    extensions: list[str] = []
    external: tuple[str, str] | None = None
    if "neutron" in target.services:
        extensions = sorted(str(one["alias"]) for one in cloud.network.extensions())
        found = [(str(one["id"]), str(one["name"])) for one in cloud.network.networks(is_router_external=True)]
        external = next((one for one in found if network in ("", *one)), None)
        if network and external is None:
            raise GroundupError(
                f"there is no external network {network}", where="option network",
                why="instances get their floating IPs from it", remedy=f"name one of: {', '.join(n for _, n in found)}",
            )  # fmt: skip
    if lacking := sorted(target.promised - set(extensions)):
        raise GroundupError(
            f"Neutron does not offer {', '.join(lacking)}",
            where="the values of release neutron: service_plugins, extension_drivers",
            why="the plan promises it, and its tests would be skipped",
            remedy="run the playbook groundup.cloud.openstack, and read the log of neutron-server",
        )
    return CloudFacts(extensions=extensions, versions=_versions(cloud, target), network=external)


def _versions(cloud: Connection, target: Target) -> dict[str, tuple[str, str]]:
    found = {}
    for service, kind in _VERSIONED.items():
        if service in target.services:
            data = cloud.config.get_session_client(kind).get_endpoint_data()
            if data and data.min_microversion and data.max_microversion:
                found[service] = (_dotted(data.min_microversion), _dotted(data.max_microversion))
    return found


def _dotted(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))


@contextmanager
def made(
    cloud: Connection,
    target: Target,
    run: SuiteRun,
    *,
    image: Path,
    user: str,
    memory_mb: int,
    disk_gb: int,
    timeout: float,
) -> Iterator[Prepared]:
    """Yield what tests need. The account is removed at the end; the rest has the run's prefix."""
    account = _account(cloud, run.prefix)
    try:
        images = flavors = ("", "")
        if "glance" in target.services:
            first, second = (_image(cloud, f"{run.prefix}-{name}", image, timeout) for name in ("image", "image-alt"))
            images = (first, second)
        if "nova" in target.services:
            small, large = (
                cloud.compute.create_flavor(
                    name=f"{run.prefix}-flavor{number}", ram=round(memory_mb * share), vcpus=1, disk=disk_gb
                )["id"]
                for number, share in enumerate(_FLAVORS)
            )
            flavors = (str(small), str(large))
        yield Prepared(
            prefix=run.prefix, account=account, images=images, flavors=flavors, image_file=image, image_user=user
        )
    finally:
        for find, delete in ((cloud.identity.users, cloud.identity.delete_user),
                             (cloud.identity.projects, cloud.identity.delete_project)):  # fmt: skip
            for one in find(name=account["username"]):
                delete(one)


def _account(cloud: Connection, prefix: str) -> dict[str, str]:
    """Make an administrator of its own project and of the system."""
    identity, name, password = cloud.identity, f"{prefix}-admin", secrets.token_urlsafe(24)
    domain = identity.get_domain(identity.get_project(cloud.current_project_id)["domain_id"])
    place = {"name": name, "domain_id": domain["id"], "description": "of groundup.cloud.tempest"}
    project = identity.create_project(**place)
    user = identity.create_user(**place, password=password, default_project_id=project["id"])
    role = next(one for one in identity.roles() if one["name"] == "admin")
    identity.assign_project_role_to_user(project, user, role)
    identity.assign_system_role_to_user(user, role, "all")
    return {"username": name, "password": password, "project_name": name, "domain_name": str(domain["name"])}


def _image(cloud: Connection, name: str, file: Path, timeout: float) -> str:
    made = cloud.image.create_image(
        name, filename=str(file), disk_format="qcow2", container_format="bare", visibility="public",
        allow_duplicates=True, wait=True, timeout=timeout,
        hw_rng_model="virtio",  # without it sshd waits half a minute for entropy
    )  # fmt: skip
    return str(made["id"])


def clean(cloud: Connection, run: SuiteRun, program: Program) -> list[str]:
    """Delete what a run made and left, and nothing else; return what could not be deleted, and why."""
    sweep = Sweep(cloud)
    projects = partial(_present, cloud.identity.get_project, run.made("project"))
    for project in projects():
        sweep.project(str(project["id"]))
    if (run.directory / RALLY_LOG).exists():  # it works in the project of our own account
        for project in cloud.identity.projects(name=f"{run.prefix}-admin"):
            sweep.project(str(project["id"]))
    sweep.gone("user", partial(_present, cloud.identity.get_user, run.made("user")), cloud.identity.delete_user)
    if not sweep.left:  # else the rest could not be found again
        sweep.gone("project", projects, cloud.identity.delete_project)
    if told := program.cleanup(run.prefix):
        sweep.left.append(f"tempest cleanup --prefix {run.prefix}: {told.strip().splitlines()[-1]}")
    # It keeps what tempest.conf names.
    if cloud.has_service("image"):
        sweep.gone("image", partial(_own, cloud.image.images, run.prefix), cloud.image.delete_image)
    if cloud.has_service("compute"):
        flavors = partial(cloud.compute.flavors, is_public="None")
        sweep.gone("flavor", partial(_own, flavors, run.prefix), cloud.compute.delete_flavor)
    return sweep.left


def _own(listed: Callable[[], Iterator[Any]], prefix: str) -> Iterator[Any]:
    """Yield those whose names are this run's."""
    return (one for one in listed() if str(one["name"]).startswith(f"{prefix}-"))


def _present(get: Callable[[str], Any], identifiers: list[str]) -> Iterator[Any]:
    """Yield those that still exist."""
    for one in identifiers:
        try:
            yield get(one)
        except NotFoundException:
            continue
