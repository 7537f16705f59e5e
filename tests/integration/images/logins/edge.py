"""A browser before two Keystones and a provider, none of which has an edge."""

from __future__ import annotations

import itertools
import ssl
import time
from typing import Any

import requests
from requests.adapters import HTTPAdapter

IDENTITY, SSO = "https://identity.cloud.test", "https://sso.corp.test:4593"


class Edge(HTTPAdapter):
    """Passes each request on to the next Keystone, as the edge does."""

    ports = itertools.cycle((5000, 5001))

    def send(self, request: Any, **more: Any) -> Any:  # type: ignore[override]
        """Send it without TLS."""
        passed = request.copy()
        passed.url = request.url.replace(IDENTITY, f"http://127.0.0.1:{next(self.ports)}")
        passed.headers.update({"Host": IDENTITY.removeprefix("https://"), "X-Forwarded-Proto": "https"})
        return super().send(passed, **more)


class Provider(HTTPAdapter):
    """Believes the provider's CA, which is as short as a test's is."""

    def init_poolmanager(self, *given: Any, **more: Any) -> Any:
        """Check certificates as curl does."""
        context = ssl.create_default_context(cafile="/mnt/ca.pem")
        context.verify_flags &= ~ssl.VERIFY_X509_STRICT
        return super().init_poolmanager(*given, **more, ssl_context=context)


def browser() -> requests.Session:
    """Return one with no cookies."""
    session = requests.Session()
    session.trust_env = False
    session.mount(IDENTITY, Edge())
    session.mount(SSO, Provider())
    session.headers["Accept"] = "text/html"
    return session


def until(ask: Any) -> Any:
    """Return the answer once there is one."""
    end = time.monotonic() + 240
    while True:
        try:
            return ask()
        except (OSError, requests.RequestException):
            if time.monotonic() > end:
                raise
            time.sleep(0.3)


def done(answer: requests.Response) -> requests.Response:
    """Return ``answer``, if it is a good one."""
    assert answer.status_code < 400, f"{answer.url} {answer.status_code} {answer.text[:800]}"
    return answer
