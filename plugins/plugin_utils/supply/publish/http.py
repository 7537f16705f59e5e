"""Send HTTP requests to a seed, never through this machine's proxy."""

from __future__ import annotations

import functools
import http.client
import socket
import ssl
import urllib.error
import urllib.request
from email.message import Message

from ....module_utils._base.tls import client_context


def ask(
    url: str, *, method: str = "GET", accept: str = "*/*", timeout: float = 60, ca: str | None = None
) -> tuple[int, Message, bytes]:
    """Return status, headers and content of the response. Raises OSError when it is missing or incomplete.

    ``ca`` (PEM) signed the seed's certificate; None: use this machine's trust store.
    """
    request = urllib.request.Request(url, headers={"Accept": accept}, method=method)  # noqa: S310 - callers build it
    try:
        with _direct(ca).open(request, timeout=timeout) as answer:
            return answer.status, answer.headers, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.headers, b""
    except http.client.HTTPException as error:
        raise ConnectionError(repr(error)) from error


def end_of_certificate(address: str, *, ca: str) -> float:
    """Return when the certificate of ``address:port`` expires, in seconds of the epoch. Raises OSError."""
    host, _, port = address.partition(":")
    with (
        socket.create_connection((host, int(port)), timeout=20) as raw,
        client_context(ca=ca).wrap_socket(raw, server_hostname=host) as connection,
    ):
        return ssl.cert_time_to_seconds(str((connection.getpeercert() or {})["notAfter"]))


@functools.cache  # cached: loading the machine's certificates takes longer than a request
def _direct(ca: str | None) -> urllib.request.OpenerDirector:
    context = client_context(ca=ca) if ca else ssl.create_default_context()
    return urllib.request.build_opener(urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=context))
