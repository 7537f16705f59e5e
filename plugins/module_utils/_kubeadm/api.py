"""A small client of the Kubernetes API: JSON over HTTPS with the standard library.

Shared by the modules on a host and by the controller's action plugins (with
the admin kubeconfig). The full client library costs a second of CPU to load, more than all the requests made here.
"""

from __future__ import annotations

import http.client
import json
import ssl
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit

APPLY = "application/apply-patch+yaml"  # JSON is YAML
MERGE = "application/merge-patch+json"


class ApiError(Exception):
    """The API answered with an error, or not at all (``status`` 0)."""

    def __init__(self, message: str, *, status: int = 0) -> None:
        """Keep the API's own message."""
        self.status = status
        super().__init__(message)


class Api:
    """One connection to one API server; kept open between requests, made again when it was closed."""

    def __init__(self, server: str, *, context: ssl.SSLContext, timeout: float = 10.0) -> None:
        """Prepare a connection to ``server`` (https URL); ``timeout`` in seconds is that of a request."""
        url = urlsplit(server)
        self._server = server
        self._connection = http.client.HTTPSConnection(
            url.hostname or "", url.port or 443, timeout=timeout, context=context
        )

    def __enter__(self) -> Self:
        """Nothing to do: the first request connects."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the connection."""
        self._connection.close()

    def request(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        *,
        content_type: str = "application/json",
    ) -> dict[str, Any]:
        """Send one request and return the answer's JSON.

        Raises:
            ApiError: the server cannot be reached (status 0) or refuses (its status and message).
        """
        data = None if body is None else json.dumps(body).encode()
        status, text = self.raw(method, path, data, content_type=content_type)
        if status >= http.HTTPStatus.BAD_REQUEST:
            raise ApiError(message(text, status), status=status)
        answer: dict[str, Any] = json.loads(text) if text else {}
        return answer

    def raw(
        self, method: str, path: str, data: bytes | None = None, *, content_type: str = "application/json"
    ) -> tuple[int, str]:
        """Send one request and return status and text. Raises ApiError when the server cannot be reached."""
        headers = {"Accept": "application/json"} | ({"Content-Type": content_type} if data is not None else {})
        for attempt in (1, 2):  # the server closes idle connections: one more try on a fresh one
            try:
                self._connection.request(method, path, data, headers)
                response = self._connection.getresponse()
                return response.status, response.read().decode("utf-8", errors="replace")
            except (http.client.CannotSendRequest, BrokenPipeError, ConnectionResetError) as error:
                self._connection.close()
                if attempt == 2:
                    raise ApiError(f"{self._server} closed the connection: {error}") from error
            except (OSError, http.client.HTTPException) as error:
                self._connection.close()
                raise ApiError(f"{self._server} does not answer: {error}") from error
        raise AssertionError("unreachable")

    def peer_certificate(self) -> dict[str, Any]:
        """Return the fields of the server's certificate. Raises ApiError when there is no connection."""
        sock = self._connection.sock
        if not isinstance(sock, ssl.SSLSocket):
            raise ApiError(f"{self._server} is not connected")
        fields: dict[str, Any] = dict(sock.getpeercert() or {})
        return fields

    def get(self, path: str) -> dict[str, Any] | None:
        """Return an object, or None when there is none. Raises ApiError."""
        try:
            return self.request("GET", path)
        except ApiError as error:
            if error.status == http.HTTPStatus.NOT_FOUND:
                return None
            raise


def message(text: str, status: int) -> str:
    """Return what an answer that is an error says."""
    try:
        return str(json.loads(text)["message"])
    except (ValueError, KeyError, TypeError):
        return f"HTTP {status}: {text[:200]}"
