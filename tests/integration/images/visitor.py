"""Runs the verifiers of services (arguments) beside their APIs; prints their checks as JSON. There is no edge here."""

from __future__ import annotations

import json
import sys
import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

from ansible_collections.groundup.cloud.plugins.plugin_utils.services import RECORDS

SITE = json.loads(Path("/mnt/site.json").read_text())
ENDPOINTS = [SimpleNamespace(**one) for one in SITE["endpoints"].values()]


def ask(method: str, url: str, *, body: Any = None, headers: Mapping[str, str] | None = None) -> Any:
    """Send a request for a public name to the port of the API behind it."""
    parts = urlsplit(url)
    host = parts.netloc
    service = SITE["endpoints"][host]["service"]
    api = next(api for api in RECORDS[service].apis if host.split(".")[0] == api.host)
    sent = {"Host": host, "X-Forwarded-Proto": "https", "Accept": "application/json"}
    content = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
    request = urllib.request.Request(  # of this script's own servers
        f"http://127.0.0.1:{api.port}{url.split(host, 1)[1]}", content,
        {**sent, "Content-Type": "application/json", **(headers or {})}, method=method,
    )  # fmt: skip
    try:
        answer = urllib.request.urlopen(request, timeout=120)  # noqa: S310
    except urllib.error.HTTPError as error:
        answer = error
    data = answer.read()
    try:
        parsed = json.loads(data)
    except ValueError:
        parsed = None
    found = {name.lower(): value for name, value in answer.headers.items()}
    return SimpleNamespace(status=answer.status, data=data, body=parsed, headers=found)


def context() -> Any:
    """Return what a verifier asks of."""
    names = SimpleNamespace(dns=SimpleNamespace(domain=None, name_servers={}))
    plan = SimpleNamespace(
        edge=SimpleNamespace(endpoints=ENDPOINTS), ovn=SimpleNamespace(**SITE["ovn"]), openstack=names
    )
    return SimpleNamespace(plan=plan, request=ask, value=lambda path: SITE["values"].get(path, SITE["admin"]))


def main() -> None:
    """Verify every service that is named."""
    for name in sys.argv[1:]:
        verify = RECORDS[name].verify
        assert verify, name
        checks = {check.name: [check.ok, check.detail] for check in verify(context()).checks}
        print(json.dumps({"service": name, "checks": checks}), flush=True)


if __name__ == "__main__":
    main()
