"""What a resource holds: it would be lost with it, or stay without an owner. No flag deletes it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from keystoneauth1.identity.v3 import Token
from keystoneauth1.session import Session
from openstack.connection import Connection

from ...errors import GroundupError
from ..connection import answered
from .api import CloudApi
from .kinds import SERVICES
from .parts import joined

Found = Mapping[str, Any]
_MEMBER = "member"  # may list all that its project has


@dataclass(frozen=True, slots=True, kw_only=True)
class Holding:
    """Things that somebody owns: where they are listed."""

    service: str  # as openstacksdk calls it
    path: str  # {}: id of the resource
    plural: str  # key of the list
    called: str = ""  # in messages; "": as the list
    inside: bool = False  # whether the API lists them to members of the project alone
    extension: str = ""  # of Neutron's API, which brings it
    headers: Mapping[str, str] = field(default_factory=dict)
    counts: Callable[[Found, str], bool] = lambda *_: True  # whether it stands for itself; id of the resource


def _network(path: str, plural: str, *, at: str = "project_id", **more: Any) -> Holding:
    return Holding(service="network", path=f"/{path}?{at}={{}}", plural=plural, **more)


def _of_an_instance(port: Found, _: str) -> bool:
    """Return whether a port stands for itself: those of routers, DHCP and metadata come and go with what has them."""
    return not str(port["device_owner"]).startswith("network:")


def _with_address(port: Found, subnet: str) -> bool:
    return _of_an_instance(port, subnet) and any(one["subnet_id"] == subnet for one in port.get("fixed_ips") or ())


def _inside(service: str, path: str, plural: str, called: str = "") -> Holding:
    return Holding(service=service, path=path, plural=plural, called=called, inside=True)


HOLDINGS: dict[str, tuple[Holding, ...]] = {
    "project": (
        Holding(service="identity", path="/projects?parent_id={}", plural="projects"),
        Holding(service="compute", path="/servers?all_tenants=1&project_id={}", plural="servers"),
        _inside("compute", "/os-server-groups", "server_groups"),
        *(
            Holding(service="block_storage", path=f"/{name}?all_tenants=1&project_id={{}}", plural=name)
            for name in ("volumes", "snapshots", "backups")
        ),
        Holding(service="image", path="/images?owner={}&visibility=all", plural="images"),
        Holding(
            service="image",
            path="/images?owner={}&visibility=all&os_hidden=true",
            plural="images",
            called="hidden images",
        ),
        _network("networks", "networks"),
        _network("routers", "routers"),
        _network("floatingips", "floatingips"),
        _network("ports", "ports", counts=_of_an_instance),
        _network("security-groups", "security_groups", counts=lambda one, _: one["name"] != "default"),
        _network("subnetpools", "subnetpools"),
        _network("address-scopes", "address_scopes", extension="address-scope"),
        _network("address-groups", "address_groups", extension="address-group"),
        _network("qos/policies", "policies", called="QoS policies", extension="qos"),
        _network("trunks", "trunks", extension="trunk"),
        _network("log/logs", "logs", called="logs of security groups", extension="logging"),
        _inside("orchestration", "/stacks", "stacks"),
        _inside("key_manager", "/secrets?limit=100", "secrets"),
        _inside("key_manager", "/containers?limit=100", "containers", "containers of secrets"),
        Holding(service="load_balancer", path="/lbaas/loadbalancers?project_id={}", plural="loadbalancers"),
        _inside("object_store", "/?format=json", "containers", "containers of objects"),
        Holding(service="dns", path="/zones", plural="zones", headers={"X-Auth-Sudo-Project-ID": "{}"}),
        *(
            _inside("shared_file_system", f"/{path}", plural, called)
            for path, plural, called in (
                ("shares", "shares", ""),
                ("snapshots", "snapshots", "snapshots of shares"),
                ("share-networks", "share_networks", ""),
                ("security-services", "security_services", ""),
            )
        ),
        _inside("container_infrastructure_management", "/clusters", "clusters"),
        _inside("container_infrastructure_management", "/clustertemplates", "clustertemplates"),
    ),
    "domain": tuple(
        Holding(service="identity", path=f"/{name}?domain_id={{}}", plural=name)
        for name in ("projects", "users", "groups", "roles")
    ),
    "group": (Holding(service="identity", path="/groups/{}/users", plural="users"),),
    "network": (
        _network("ports", "ports", at="network_id", counts=_of_an_instance),
        _network("subnets", "subnets", at="network_id", counts=lambda one, network: one["network_id"] == network),
    ),
    "subnet": (_network("ports", "ports", at="fixed_ips=subnet_id", counts=_with_address),),
    "security_group": (  # Neutron deletes rules for it with it
        Holding(
            service="network",
            path="/security-groups",
            plural="security_groups",
            called="groups with rules for it",
            counts=lambda one, group: (
                one["id"] != group
                and any(rule.get("remote_group_id") == group for rule in one.get("security_group_rules") or ())
            ),
        ),
    ),
    "router": (
        _network("floatingips", "floatingips", at="router_id", counts=lambda one, router: one["router_id"] == router),
    ),
    "dns_zone": (
        Holding(
            service="dns",
            path="/zones/{}/recordsets",
            plural="recordsets",
            headers={"X-Auth-All-Projects": "true"},
            counts=lambda one, _: one["type"] not in ("SOA", "NS") or one["name"] != one["zone_name"],
        ),
    ),
}


@dataclass(slots=True, kw_only=True)
class Holder:
    """Asks a cloud for what resources hold."""

    api: CloudApi
    services: Collection[str]  # of the site
    going: Collection[str]  # ids of what is deleted as well
    extensions: set[str] | None = None  # of Neutron, once they were asked for

    def refusals(self, kind: str, found: Found, *, dry: bool) -> Iterator[str]:
        """Yield why ``found`` must not be deleted. In a dry run only the administrator's own lists are asked.

        Raises GroundupError when an API does not answer: what it has is not known then.
        """
        rows = [row for row in HOLDINGS.get(kind, ()) if SERVICES[row.service] in self.services]
        yield from self._held(self.api, kind, found, [row for row in rows if not row.inside and self._offered(row)])
        if kind == "router":
            with answered(f"subnets of router {found['name']}"):
                theirs = set(joined(self.api, found)) - self.api.ledger.made
            if theirs:
                yield f"router {found['name']} still joins {len(theirs)} subnets that are not from this site file"
        inner = [row for row in rows if row.inside]
        if not inner or dry:
            return
        if not found.get("enabled", True):
            yield f"project {found['name']} is disabled, and its {', '.join(_name(row) for row in inner)} are not known"
            return
        with as_member(self.api, str(found["id"])) as member:
            yield from self._held(member, kind, found, inner)

    def _held(self, api: CloudApi, kind: str, found: Found, rows: list[Holding]) -> Iterator[str]:
        what = f"{kind.replace('_', ' ')} {found['name']}"
        for row in rows:
            headers = {key: value.format(found["id"]) for key, value in row.headers.items()}
            with answered(f"{_name(row)} of {what}"):
                listed = api.all(row.service, row.path.format(found["id"]), row.plural, headers=headers)
            stays = [
                one for one in listed if row.counts(one, str(found["id"])) and str(one.get("id")) not in self.going
            ]
            if stays:
                yield f"{what} still has {len(stays)} {_name(row)} that are not from this site file"

    def _offered(self, row: Holding) -> bool:
        if not row.extension:
            return True
        if self.extensions is None:
            with answered("extensions of Neutron"):
                self.extensions = {str(one["alias"]) for one in self.api.all("network", "/extensions", "extensions")}
        return row.extension in self.extensions


def unseen(kind: str, services: Collection[str]) -> list[str]:
    """Return what a dry run does not look for in projects: listing it takes a role there."""
    return [_name(row) for row in HOLDINGS.get(kind, ()) if row.inside and SERVICES[row.service] in services]


def _name(row: Holding) -> str:
    return row.called or row.plural.replace("_", " ")


@contextmanager
def as_member(api: CloudApi, project: str) -> Iterator[CloudApi]:
    """Ask as a member of ``project``: the administrator gets the role for that time, unless it has it."""
    user = str(api.cloud.current_user_id)
    roles = f"/projects/{project}/users/{user}/roles"
    with answered(f"the administrator's role on project {project}"):
        member = next((str(one["id"]) for one in api.all("identity", f"/roles?name={_MEMBER}", "roles")), None)
        if member is None:
            raise GroundupError(
                f"Keystone has no role {_MEMBER}", where=f"project {project}", why="its members alone see all it has",
                remedy="run the playbook groundup.cloud.openstack",
            )  # fmt: skip
        had = member in {str(one["id"]) for one in api.all("identity", roles, "roles")}
    if had:
        yield CloudApi(_scoped(api.cloud, project))
        return
    role = f"{roles}/{member}"
    api.ledger.lend(role)
    try:
        with answered(f"the administrator's role on project {project}"):
            api.call("identity", "PUT", role)
        yield CloudApi(_scoped(api.cloud, project))
    finally:
        _take_back(api, role)


def take_back(api: CloudApi, *, dry: bool) -> Iterator[str]:
    """Take away roles that killed runs left to the administrator; yield what is said of each."""
    for role in sorted(api.ledger.lent):
        what = f"the administrator's role on project {role.split('/')[2]}, which a killed run left"
        yield f"a run without --check takes back {what}, unless one is under way" if dry else f"took back {what}"
        if not dry:
            _take_back(api, role)


def _take_back(api: CloudApi, role: str) -> None:
    with answered(f"the administrator's role on project {role.split('/')[2]}"):
        CloudApi(api.cloud).call("identity", "DELETE", role, absent=True)  # by a run that lost its lease, too
    api.ledger.took_back(role)


def _scoped(admin: Connection, project: str) -> Connection:
    """Return a connection of the same user to ``project``."""
    shared = admin.session
    auth = Token(auth_url=str(shared.auth.auth_url), token=shared.get_token(), project_id=project)
    session = Session(
        auth=auth, session=shared.session, verify=shared.verify, cert=shared.cert, timeout=shared.timeout
    )  # fmt: skip
    return Connection(session=session, region_name=admin.config.region_name, interface=admin.config.get_interface())
