"""HTTPS to the site's public names, from outside the cluster, without touching how this machine resolves names.

A name is looked up in the plan only; the certificate must be for that name and signed by the site's CA.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import urllib3

from ...plan.types import Plan
from ..types import RolloutError


class UnreachedError(RolloutError):
    """A public URL that cannot be used from outside: its name, its address, its TLS."""

    def __init__(self, what: str, *, where: str) -> None:
        """Keep what went wrong with which URL."""
        super().__init__(
            what,
            where=where,
            why="clients outside the cluster use this URL",
            remedy="check the virtual IP, HAProxy on the control hosts, and the site's CA",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """An HTTP answer."""

    status: int
    headers: Mapping[str, str]
    body: Any  # JSON, or None when it is not JSON


class SiteHttps:
    """Requests to the public names of a plan. ``authority``: path of the CA certificate."""

    def __init__(self, *, plan: Plan, authority: Path, timeout: float = 30.0) -> None:
        self._names = {
            **plan.host.names,
            **{endpoint.name: plan.edge.address for endpoint in plan.edge.endpoints},
        }
        self._authority = authority
        self._timeout = timeout

    def request(self, method: str, url: str, *, body: Any = None, headers: Mapping[str, str] | None = None) -> Answer:
        """Send one request. Raises UnreachedError for a name the plan has not, no connection, or a bad certificate."""
        parts = urlsplit(url)
        name = parts.hostname or ""
        if parts.scheme != "https":
            raise UnreachedError("its scheme is not https", where=url)
        if name not in self._names:
            raise UnreachedError(f"the name {name} is not one of the site's public names", where=url)
        if not self._authority.is_file():
            raise UnreachedError(f"there is no CA certificate {self._authority}", where=url)
        pool = urllib3.HTTPSConnectionPool(
            self._names[name], parts.port or 443, server_hostname=name, assert_hostname=name,
            ca_certs=str(self._authority), timeout=urllib3.Timeout(self._timeout), retries=False,
        )  # fmt: skip
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        sent = {"Host": parts.netloc, "Accept": "application/json", "Content-Type": "application/json"}
        try:
            response = pool.request(
                method, target, headers={**sent, **(headers or {})},
                body=json.dumps(body).encode() if body is not None else None,
            )  # fmt: skip
        except urllib3.exceptions.HTTPError as error:
            raise UnreachedError(f"{name} at {self._names[name]}: {error}", where=url) from error
        finally:
            pool.close()
        try:
            content = json.loads(response.data) if response.data else None
        except ValueError:
            content = None
        return Answer(status=response.status, headers=dict(response.headers), body=content)
