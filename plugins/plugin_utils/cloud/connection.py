"""Connections to a cloud by openstacksdk: to a site's, past the machine's resolver, or to any of clouds.yaml."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

import openstack
import requests
from keystoneauth1 import exceptions as keystone_errors
from keystoneauth1.identity.v3 import Password
from keystoneauth1.session import Session
from openstack.connection import Connection
from openstack.exceptions import SDKException
from requests.adapters import HTTPAdapter

from ..errors import GroundupError
from ..paths import state_dir
from ..plan.types import Plan
from ..secrets import open_store
from ..services import keystone

Ask = Callable[[str, str], Mapping[str, Any]]  # type in the catalog, path -> answer
# Versions that name hosts as they are, and show inventories by class.
_VERSIONS = {"compute": "2.53", "placement": "1.10"}
_TIMEOUT = 120  # seconds without a byte of an answer
_UNREACHED = (
    keystone_errors.ConnectFailure,
    keystone_errors.EndpointNotFound,
    keystone_errors.DiscoveryFailure,
    keystone_errors.ServiceUnavailable,
    requests.ConnectionError,
)
ERRORS = (SDKException, keystone_errors.ClientException, requests.RequestException)  # of anything asked here
GATEWAY = (502, 503, 504)  # said by the edge while nothing is behind it


class UnreachedError(GroundupError):
    """There is no cloud to ask, or not yet."""


class PinnedAdapter(HTTPAdapter):
    """HTTPS to names that this machine cannot resolve: to the address given, the certificate is of the name."""

    def __init__(self, names: Mapping[str, str]) -> None:
        """Take the only names there are, with their addresses."""
        super().__init__()
        self._names = dict(names)

    def build_connection_pool_key_attributes(
        self, request: Any, verify: Any, cert: Any = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Connect to the address; SNI and the certificate's check stay with the name. Raises RequestException."""
        host, tls = super().build_connection_pool_key_attributes(request, verify, cert)
        name = str(host["host"])
        if host["scheme"] != "https" or name not in self._names:
            raise requests.exceptions.InvalidURL(f"{request.url} is not HTTPS to one of the site's public names")
        host["host"] = self._names[name]
        return host, {**tls, "server_hostname": name, "assert_hostname": name}

    def add_headers(self, request: Any, **_more: Any) -> None:
        """Keep the name in the request: urllib3 would write the address there."""
        request.headers["Host"] = urlsplit(str(request.url)).netloc


def pinned(names: Mapping[str, str]) -> requests.Session:
    """Return a session that knows ``names`` and asks neither a proxy nor this machine's resolver."""
    session = requests.Session()
    session.trust_env = False
    for scheme in ("https://", "http://"):
        session.mount(scheme, PinnedAdapter(names))
    return session


def of_site(plan: Plan) -> Connection:
    """Return the administrator of a site's own cloud. Raises GroundupError for a site that has none."""
    identity = next((one for one in plan.edge.endpoints if one.service == keystone.SERVICE.name), None)
    if identity is None:
        raise GroundupError(
            "the site has no Keystone of its own",
            where="site file key openstack.services",
            why="whoever asks the cloud needs a token",
            remedy="write keystone into it, or name a cloud of clouds.yaml",
        )
    authority = state_dir(plan.site) / "ca.crt"
    password = open_store(plan.site, write=False).items().get(keystone.ADMIN_CREDENTIAL)
    if not authority.is_file() or not password:
        raise UnreachedError(
            f"the site has no {authority.name} or no secret {keystone.ADMIN_CREDENTIAL} yet",
            where=str(authority.parent),
            why="the cloud's certificate cannot be checked, or nobody logs in",
            remedy="run the playbook groundup.cloud.secrets",
        )
    names = {**plan.host.names, **{one.name: plan.edge.address for one in plan.edge.endpoints}}
    auth = Password(auth_url=identity.url, password=password, **keystone.ADMIN)
    session = Session(auth=auth, session=pinned(names), verify=str(authority), timeout=_TIMEOUT)
    return Connection(session=session, region_name=plan.openstack.region)


def asker(plan: Plan) -> Ask:
    """Return what reads a path of a site's own cloud: one request a question. Raises GroundupError."""
    cloud = of_site(plan)
    public = {"interface": "public", "region_name": plan.openstack.region}

    def ask(kind: str, path: str) -> Mapping[str, Any]:
        filters = {"service_type": kind, **public}
        with answered(f"{kind} {path}", remedy="run the playbook groundup.cloud.openstack, tag verify"):
            answer = cloud.session.get(path, endpoint_filter=filters, microversion=_VERSIONS.get(kind))
            return dict(answer.json())

    return ask


def named(cloud: str) -> Connection:
    """Return the connection that clouds.yaml calls ``cloud``. Raises GroundupError."""
    with answered(f"clouds.yaml, {cloud}"):
        return openstack.connect(cloud=cloud)


def as_user(admin: Connection, *, user_id: str, password: str, project_id: str) -> Connection:
    """Return another user of the same cloud."""
    shared = admin.session
    auth = Password(
        auth_url=str(shared.auth.auth_url), user_id=user_id, password=password, project_id=project_id
    )  # fmt: skip
    session = Session(auth=auth, session=shared.session, verify=shared.verify, cert=shared.cert, timeout=_TIMEOUT)
    return Connection(session=session, region_name=admin.config.region_name)


@contextmanager
def answered(where: str, *, remedy: str = "see what it says, and the log of that service") -> Iterator[None]:
    """Make of what a cloud refuses, or does not answer, an error an operator can act on."""
    try:
        yield
    except ERRORS as error:
        kind = (
            UnreachedError
            if isinstance(error, _UNREACHED) or getattr(error, "status_code", 0) in GATEWAY
            else GroundupError
        )
        raise kind(said(error), where=where, why="it is what the cloud says", remedy=remedy) from error


def said(error: Exception) -> str:
    """Return the words of an error of the cloud: the service's own where it has some."""
    details = getattr(error, "details", None)
    return f"{error}: {details}" if details and str(details) not in str(error) else str(error) or type(error).__name__
