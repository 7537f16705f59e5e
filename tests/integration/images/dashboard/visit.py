"""Visits the dashboard in front of it, as the edge passes a browser's requests on. Prints what it saw, as JSON."""

from __future__ import annotations

import json
import re
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

from ansible_collections.groundup.cloud.plugins.plugin_utils.services.browsing import LOGIN, Browser, judge

URL, API = "https://dashboard.edge.test", "https://identity.edge.test/v3"
_SERVER = "http://127.0.0.1"


class Stay(urllib.request.HTTPRedirectHandler):
    """Goes nowhere by itself."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        """Return no other request."""


def ask(method: str, url: str, *, body: bytes | None = None, headers: Mapping[str, str] | None = None) -> Any:
    edge = {"Host": URL.removeprefix("https://"), "X-Forwarded-Proto": "https"}
    request = urllib.request.Request(  # noqa: S310  # of this script's own server
        url.replace(URL, _SERVER), body, {**edge, **(headers or {})}, method=method
    )
    try:
        answer = urllib.request.build_opener(Stay).open(request, timeout=300)
    except urllib.error.HTTPError as error:
        answer = error
    return SimpleNamespace(
        status=answer.status, data=answer.read(),
        headers={name.lower(): value for name, value in answer.headers.items()},
        cookies=tuple(answer.headers.get_all("set-cookie") or ()),
    )  # fmt: skip


def first_page() -> Any:
    """Return the login page once Keystone and the dashboard answer."""
    end = time.monotonic() + 600
    while True:
        try:
            ask("GET", f"{_SERVER}:5000/v3")
            return ask("GET", f"{URL}{LOGIN}")
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.5)


def visit(password: str) -> dict[str, bool]:
    """Log in, look at the own project, log out; return what became of each."""
    browser = Browser(ask=ask, url=URL)
    browser.open(LOGIN)
    login = browser.submit(LOGIN, username="admin", password=password, region="default")
    page = browser.open("/project/api_access/")
    browser.submit("/auth/logout/")
    after = browser.open("/project/api_access/")
    found = judge(
        login=login.status, page=page.data.decode(), after=after.headers.get("location", ""),
        user="admin", project="admin", api=API,
    )  # fmt: skip
    return {check.name: check.ok for check in found}


def main() -> None:
    """See everything."""
    page = first_page()
    paths = re.findall(r"""["'](/static/[^"'?]+[.](?:css|js))["']""", page.data.decode())
    files = {path: ask("GET", f"{URL}{path}") for path in paths}
    seen = {
        "page": {"status": page.status, "headers": page.headers, "cookies": page.cookies},
        "files": {path: [one.status, one.headers["content-type"]] for path, one in files.items()},
        "right password": visit("admins-words"),
        "wrong password": visit("wrong"),
        "forged": ask("POST", f"{URL}{LOGIN}", body=b"username=admin&password=admins-words").headers["location"],
        "other name": ask("GET", f"{URL}{LOGIN}", headers={"Host": "other.test"}).status,
    }
    print(json.dumps(seen))


if __name__ == "__main__":
    main()
