"""Connect to a cloud by openstacksdk: to a site's own at pinned addresses, or to one of clouds.yaml."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
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
from ..https import public_names
from ..services import keystone
from .administrator import GATEWAY, VERIFY, UnreachedError, administrator

if TYPE_CHECKING:
    from ..plan.types import Plan

Ask = Callable[[str, str], Mapping[str, Any]]  # service type, path -> answer
# Microversions with plain host names, and with inventories by resource class.
_VERSIONS = {"compute": "2.53", "placement": "1.10"}
_TIMEOUT = 120.0  # seconds without a byte received
_UNREACHED = (
    keystone_errors.ConnectFailure,
    keystone_errors.EndpointNotFound,
    keystone_errors.DiscoveryFailure,
    keystone_errors.ServiceUnavailable,
    requests.ConnectionError,
)
ERRORS = (SDKException, keystone_errors.ClientException, requests.RequestException)  # of any request


class PinnedAdapter(HTTPAdapter):
    """HTTPS to names that this machine cannot resolve: connect to a given address, verify the name's certificate."""

    def __init__(self, names: Mapping[str, str]) -> None:
        """Take the allowed names with their addresses."""
        super().__init__()
        self._names = dict(names)

    def build_connection_pool_key_attributes(
        self, request: Any, verify: Any, cert: Any = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Connect to the address; keep the name for SNI and certificate check. Raises RequestException."""
        host, tls = super().build_connection_pool_key_attributes(request, verify, cert)
        name = str(host["host"])
        if host["scheme"] != "https" or name not in self._names:
            raise requests.exceptions.InvalidURL(f"{request.url} is not HTTPS to one of the site's public names")
        host["host"] = self._names[name]
        return host, {**tls, "server_hostname": name, "assert_hostname": name}

    def add_headers(self, request: Any, **_more: Any) -> None:
        """Send the name as Host header: urllib3 would send the address."""
        request.headers["Host"] = urlsplit(str(request.url)).netloc


def pinned(names: Mapping[str, str]) -> requests.Session:
    """Return a session that reaches only ``names`` and uses neither proxy nor DNS."""
    session = requests.Session()
    session.trust_env = False
    for scheme in ("https://", "http://"):
        session.mount(scheme, PinnedAdapter(names))
    return session


def of_site(plan: Plan, *, timeout: float = _TIMEOUT) -> Connection:
    """Return the administrator's connection; ``timeout``: seconds without a byte. Raises GroundupError without one."""
    admin = administrator(plan)
    auth = Password(auth_url=admin.url, password=admin.password, **keystone.ADMIN)
    session = Session(auth=auth, session=pinned(public_names(plan)), verify=str(admin.authority), timeout=timeout)
    return Connection(session=session, region_name=plan.openstack.region)


def asker(plan: Plan, *, timeout: float = _TIMEOUT) -> Ask:
    """Return a function that reads a path of a site's own cloud with one request. Raises GroundupError."""
    cloud = of_site(plan, timeout=timeout)
    public = {"interface": "public", "region_name": plan.openstack.region}

    def ask(kind: str, path: str) -> Mapping[str, Any]:
        filters = {"service_type": kind, **public}
        with answered(f"{kind} {path}", remedy=VERIFY):
            answer = cloud.session.get(path, endpoint_filter=filters, microversion=_VERSIONS.get(kind))
            return dict(answer.json())

    return ask


def named(cloud: str) -> Connection:
    """Return a connection to ``cloud`` of clouds.yaml. Raises GroundupError."""
    with answered(f"clouds.yaml, {cloud}"):
        return openstack.connect(cloud=cloud)


def as_user(admin: Connection, *, user_id: str, password: str, project_id: str) -> Connection:
    """Return a connection to the same cloud as another user."""
    shared = admin.session
    auth = Password(
        auth_url=str(shared.auth.auth_url), user_id=user_id, password=password, project_id=project_id
    )  # fmt: skip
    session = Session(auth=auth, session=shared.session, verify=shared.verify, cert=shared.cert, timeout=_TIMEOUT)
    return Connection(session=session, region_name=admin.config.region_name, interface=admin.config.get_interface())


@contextmanager
def answered(where: str, *, remedy: str = "see what it says, and the log of that service") -> Iterator[None]:
    """Turn a cloud's errors into GroundupError with a remedy, UnreachedError when it does not answer."""
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
    """Return the text of a cloud's error, with the service's details if there are any."""
    details = getattr(error, "details", None)
    return f"{error}: {details}" if details and str(details) not in str(error) else str(error) or type(error).__name__
