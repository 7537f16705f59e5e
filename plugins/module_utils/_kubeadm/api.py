"""A minimal client of the Kubernetes and etcd APIs: JSON over HTTPS, with the standard library only."""

from __future__ import annotations

import http.client
import json
import socket
import ssl
from collections.abc import Mapping
from typing import Any, Self
from urllib.parse import urlsplit


class NodeApiError(Exception):
    """The API returned an error, or did not answer (``status`` 0)."""

    def __init__(self, message: str, *, status: int = 0) -> None:
        self.status = status
        super().__init__(message)


class NodeApi:
    """A connection to one API server, kept open between requests and reopened when closed."""

    def __init__(self, server: str, *, context: ssl.SSLContext, timeout: float = 10.0) -> None:
        """Prepare a connection to ``server`` (https URL); ``timeout``: seconds per request."""
        url = urlsplit(server)
        self._server = server
        self._connection = http.client.HTTPSConnection(
            url.hostname or "", url.port or 443, timeout=timeout, context=context
        )

    def __enter__(self) -> Self:
        """Nothing to do: the first request connects."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the connection."""
        self._connection.close()

    def request(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Send a request and return the JSON answer. Raises NodeApiError with the server's status and message."""
        status, text = self.raw(method, path, None if body is None else json.dumps(body).encode())
        if status >= http.HTTPStatus.BAD_REQUEST:
            raise NodeApiError(_message(text, status), status=status)
        answer: dict[str, Any] = json.loads(text) if text else {}
        return answer

    def raw(self, method: str, path: str, data: bytes | None = None) -> tuple[int, str]:
        """Send a request and return status and text. Raises NodeApiError when the server cannot be reached."""
        headers = {"Accept": "application/json"} | ({"Content-Type": "application/json"} if data is not None else {})
        for attempt in (1, 2):  # the server closes idle connections: retry once on a new one
            try:
                self._connection.request(method, path, data, headers)
                response = self._connection.getresponse()
                return response.status, response.read().decode("utf-8", errors="replace")
            except (http.client.CannotSendRequest, BrokenPipeError, ConnectionResetError) as error:
                self._connection.close()
                if attempt == 2:
                    raise NodeApiError(f"{self._server} closed the connection: {error}") from error
            except (OSError, http.client.HTTPException) as error:
                self._connection.close()
                raise NodeApiError(f"{self._server} does not answer: {error}") from error
        raise AssertionError("unreachable")

    def get(self, path: str) -> dict[str, Any] | None:
        """Return an object; None when it does not exist. Raises NodeApiError."""
        try:
            return self.request("GET", path)
        except NodeApiError as error:
            if error.status == http.HTTPStatus.NOT_FOUND:
                return None
            raise


def speaks(server: str, *, authority: str, timeout: float) -> bool:
    """Return whether an API is at ``server`` (https URL): it answers, or hangs.

    It counts when its cluster has the CA ``authority`` (PEM); "": any.
    """
    place = urlsplit(server)
    try:
        socket.create_connection((place.hostname or "", place.port or 443), timeout).close()
    except OSError:
        return False
    context = ssl.create_default_context(cadata=authority or None)
    context.check_hostname = False  # the authority tells the cluster
    context.verify_mode = ssl.CERT_REQUIRED if authority else ssl.CERT_NONE
    with NodeApi(server, context=context, timeout=timeout) as api:
        try:
            return bool(api.raw("GET", "/version"))
        except NodeApiError as error:
            return isinstance(error.__cause__, TimeoutError)


def _message(text: str, status: int) -> str:
    """Return the message of an error answer."""
    try:
        return str(json.loads(text)["message"])
    except (ValueError, KeyError, TypeError):
        return f"HTTP {status}: {text[:200]}"
