"""HTTPS to the site's public names, from outside the cluster, without changing this machine's name resolution.

Names are looked up in the plan only; the certificate must be for that name and signed by the site's CA.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import urllib3

from .verification import UnansweredError

if TYPE_CHECKING:
    from ..plan.types import Plan

_TIMEOUT = urllib3.Timeout(30.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """An HTTP answer."""

    status: int
    headers: Mapping[str, str]  # names in lower case
    body: Any  # JSON, or None when it is not JSON
    data: bytes = b""  # the raw body
    cookies: tuple[str, ...] = ()  # every Set-Cookie header, unparsed


def request(
    method: str, url: str, *, plan: Plan, authority: Path, body: Any = None, headers: Mapping[str, str] | None = None
) -> Answer:
    """Send one request. ``authority``: path of the CA certificate; ``body``: bytes, or a value sent as JSON.

    Raises UnansweredError for a name that is not in the plan, no connection, or a bad certificate.
    """
    parts = urlsplit(url)
    name = parts.hostname or ""
    names = {**plan.host.names, **{endpoint.name: plan.edge.address for endpoint in plan.edge.endpoints}}
    if parts.scheme != "https":
        raise UnansweredError("its scheme is not https", where=url)
    if name not in names:
        raise UnansweredError(f"the name {name} is not one of the site's public names", where=url)
    if not authority.is_file():
        raise UnansweredError(f"there is no CA certificate {authority}", where=url)
    pool = urllib3.HTTPSConnectionPool(
        names[name], parts.port or 443, server_hostname=name, assert_hostname=name, ca_certs=str(authority),
        timeout=_TIMEOUT, retries=False,
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
