"""A small cloud in memory, asked by its public names."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast
from urllib.parse import urlsplit

from ansible_collections.groundup.cloud.plugins.plugin_utils.health.context import Verifier, VerifierContext
from ansible_collections.groundup.cloud.plugins.plugin_utils.https import Answer
from ansible_collections.groundup.cloud.plugins.plugin_utils.services import (
    RECORDS,
)
from ansible_collections.groundup.cloud.tests.unit.tls import pair

Handler = Callable[..., tuple[int, Any]]
ADMIN = {name: name for name in ("username", "password", "user_domain_name", "project_name", "project_domain_name")}


class Cloud:
    """Answers by the first pattern that fits method, host and path; keeps what was asked."""

    def __init__(self) -> None:
        self.routes: list[tuple[str, Handler]] = []
        self.asked: list[str] = []
        self.values: dict[str, str] = {}  # by dotted path
        catalog = [{"type": "compute", "name": "nova", "endpoints": [self._public("https://compute.test/v2.1")]}]
        token = {"project": {"name": "admin"}, "expires_at": "later", "catalog": catalog}
        self.on("POST identity.test/v3/auth/tokens", lambda **_: (201, {"token": token}))

    @staticmethod
    def _public(url: str) -> dict[str, str]:
        return {"interface": "public", "url": url, "region": "RegionOne"}

    def on(self, pattern: str, handler: Handler) -> None:
        self.routes.append((pattern, handler))

    def request(self, method: str, url: str, *, body: Any = None, headers: Mapping[str, str] | None = None) -> Answer:
        parts = urlsplit(url)
        said = f"{method} {parts.hostname}{parts.path}"
        self.asked.append(said)
        for pattern, handler in self.routes:
            if found := re.fullmatch(pattern, said):
                if "tokens" not in pattern:
                    assert (headers or {})["X-Auth-Token"] == "its-id"
                status, answer = handler(body=body, **found.groupdict())
                data = answer if isinstance(answer, bytes) else b""
                return Answer(status=status, headers={"x-subject-token": "its-id"}, body=answer, data=data)
        return Answer(status=404, headers={}, body=None)

    def value(self, path: str) -> Any:
        return self.values.get(path, ADMIN if "auth" in path else None)

    def verify(self, service: str) -> Any:
        endpoints = [
            SimpleNamespace(service=name, type=RECORDS[name].apis[0].type, url=f"https://{host}.test{path}")
            for name, host, path in (
                ("keystone", "identity", "/v3"), ("placement", "placement", ""), ("glance", "image", ""),
                ("neutron", "network", ""), ("nova", "compute", "/v2.1"), ("cinder", "volume", "/v3"),
            )
        ]  # fmt: skip
        proxy = {"data": {"tls.crt": base64.b64encode(pair(days=100.5).certificate.encode()).decode()}}
        secrets = {"/api/v1/namespaces/openstack/secrets/nova-novncproxy-vencrypt": proxy}
        context = SimpleNamespace(
            plan=SimpleNamespace(
                edge=SimpleNamespace(endpoints=endpoints),
                ovn=SimpleNamespace(tenant_mtu=1442),
                openstack=SimpleNamespace(dns=SimpleNamespace(domain=None, name_servers={})),
            ),
            request=self.request, value=self.value, authority=Path("/nonexistent"),
            release=SimpleNamespace(name=service, namespace="openstack"), api=SimpleNamespace(find=secrets.get),
        )  # fmt: skip
        return cast("Verifier", RECORDS[service].verify)(cast("VerifierContext", context))
