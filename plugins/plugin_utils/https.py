"""HTTPS to the site, past this machine's proxy and name resolution.

Public names are looked up in the plan only; the certificate must be for that name and of a CA that the site trusts.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from .errors import GroundupError
from .paths import state_dir

if TYPE_CHECKING:
    import requests

    from .plan.types import Plan

BUNDLE = "trust.pem"  # in the state directory: the site's CA and others (`trust_file`)
_TIMEOUT = 30.0  # seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    status: int
    headers: Mapping[str, str]  # names in lower case
    body: Any  # JSON, or None when it is not JSON
    data: bytes = b""  # the raw body
    cookies: tuple[str, ...] = ()  # every Set-Cookie header, unparsed


class UnansweredError(GroundupError):
    """A request without a valid answer; ``what`` is the reason."""

    def __init__(self, what: str, *, where: str) -> None:
        """Set the reason, and the address that was asked."""
        super().__init__(what, where=where, why="only its answer tells whether it works", remedy="see its log")


def site_authority(site: str) -> Path:
    """Return the certificate of the site's own CA."""
    return state_dir(site) / "ca.crt"


def trust_file(plan: Plan) -> Path:
    """Return the file with the CAs that clients of the public names trust: the site's own alone, or a bundle."""
    own = site_authority(plan.site)
    return own.with_name(BUNDLE) if plan.host.trusted_cas or plan.edge.public_root else own


def public_names(plan: Plan) -> dict[str, str]:
    """Return the address of each public name of the site."""
    return {**plan.host.names, **{endpoint.name: plan.edge.address for endpoint in plan.edge.endpoints}}


def request(
    method: str,
    url: str,
    *,
    plan: Plan,
    authority: Path,
    body: Any = None,
    headers: Mapping[str, str] | None = None,
    timeout: float = _TIMEOUT,
) -> Answer:
    """Send one request. ``authority``: file with the CAs; ``body``: bytes, or a value sent as JSON.

    Raises UnansweredError for a name that is not in the plan, no connection, or a bad certificate.
    """
    import urllib3  # late import: the plan reads services, which name only types of this file

    parts = urlsplit(url)
    name = parts.hostname or ""
    names = public_names(plan)
    if parts.scheme != "https":
        raise UnansweredError("its scheme is not https", where=url)
    if name not in names:
        raise UnansweredError(f"the name {name} is not one of the site's public names", where=url)
    if not authority.is_file():
        raise UnansweredError(f"there is no CA certificate {authority}", where=url)
    pool = urllib3.HTTPSConnectionPool(
        names[name], parts.port or 443, server_hostname=name, assert_hostname=name, ca_certs=str(authority),
        timeout=urllib3.Timeout(timeout), retries=False,
    )  # fmt: skip
    sent = {"Host": parts.netloc, "Accept": "application/json", "Content-Type": "application/json", **(headers or {})}
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    try:
        content = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        response = pool.request(method, target, headers=sent, body=content)
    except urllib3.exceptions.HTTPError as error:
        raise UnansweredError(f"{name} at {names[name]}: {error}", where=url) from error
    finally:
        pool.close()
    try:
        parsed = json.loads(response.data)
    except ValueError:
        parsed = None
    return Answer(
        status=response.status, body=parsed, data=response.data,
        headers={key.lower(): value for key, value in response.headers.items()},
        cookies=tuple(response.headers.getlist("set-cookie")),
    )  # fmt: skip


def seed_session(*, user: str, password: str, ca: Path, connections: int = 10) -> requests.Session:
    """Return a session with the seed's services, which are reached by address."""
    import requests  # late import: verification does without it

    session = requests.Session()
    session.trust_env = False  # the seed is not behind a proxy
    session.auth, session.verify = (user, password), str(ca)
    session.mount("https://", requests.adapters.HTTPAdapter(pool_maxsize=connections))
    return session
