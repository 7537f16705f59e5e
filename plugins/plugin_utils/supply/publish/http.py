"""Send HTTP requests to a seed, never through this machine's proxy."""

from __future__ import annotations

import functools
import http.client
import socket
import ssl
import urllib.error
import urllib.request
from contextlib import suppress
from email.message import Message
from http import HTTPStatus

from ....module_utils._base.tls import client_context
from ....module_utils._base.wait import wait_until
from ...errors import GroundupError
from ...progress import Progress, no_progress, reminder


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


def content_of(url: str, *, ca: str) -> bytes | None:
    """Return the content of ``url``, None if there is none or no answer."""
    with suppress(OSError):
        status, _, content = ask(url, ca=ca)
        return content if status == HTTPStatus.OK else None
    return None


def wait_for(url: str, *, ca: str, seconds: float = 60, progress: Progress = no_progress) -> None:
    """Wait until ``url`` answers; a service that was just started needs a moment."""
    with reminder(progress, f"[publish] waiting for {url}"):
        silent = wait_until(lambda: content_of(url, ca=ca) is None, timeout=seconds, pause=0.2)
    if silent:
        raise GroundupError(
            f"no registry answers within {seconds:g} s",
            where=url,
            why="images cannot be served to the site",
            remedy="on the seed: systemctl status docker-registry nginx",
        )


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
