"""HTTP requests to a seed: never through this machine's proxy."""

from __future__ import annotations

import functools
import http.client
import urllib.error
import urllib.request
from email.message import Message


def ask(url: str, *, method: str = "GET", accept: str = "*/*", timeout: float = 60) -> tuple[int, Message, bytes]:
    """Return status, headers and content of the answer. Raises OSError when there is none, or half of one."""
    request = urllib.request.Request(url, headers={"Accept": accept}, method=method)  # noqa: S310 - callers build it
    try:
        with _direct().open(request, timeout=timeout) as answer:
            return answer.status, answer.headers, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.headers, b""
    except http.client.HTTPException as error:
        raise ConnectionError(repr(error)) from error


@functools.cache  # it reads the machine's certificates, which takes longer than a request
def _direct() -> urllib.request.OpenerDirector:
    return urllib.request.build_opener(urllib.request.ProxyHandler({}))
