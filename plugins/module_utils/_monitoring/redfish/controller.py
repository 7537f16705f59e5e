"""One management controller, asked by Redfish: GET alone, with its login, for so long and no longer.

Its certificate is believed, as Ironic believes it: controllers sign their own. What it says is its own word.
"""

from __future__ import annotations

import base64
import http.client
import json
import ssl
import time
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

ROOT = "/redfish/v1/"
PATIENCE = 40.0  # seconds for all that one is asked
_ANSWER = 10.0  # seconds for a piece of an answer
_LIMIT = 4 << 20  # bytes of an answer

Resource = Mapping[str, Any]


class RedfishController:
    """A connection to one."""

    def __init__(self, *, address: str, user: str, password: str) -> None:
        """Take its address, with a port where it is not 443; nothing is asked yet."""
        place = urlsplit(f"https://{address}")
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        self._connection = http.client.HTTPSConnection(
            str(place.hostname), place.port, context=context, timeout=_ANSWER
        )
        login = base64.b64encode(f"{user}:{password}".encode()).decode("ascii")
        self._head = {"Authorization": f"Basic {login}", "Accept": "application/json", "OData-Version": "4.0"}
        self._end = time.monotonic() + PATIENCE

    def get(self, path: str) -> Resource:
        """Return a resource; empty, where there is none. Raises OSError, HTTPException, ValueError."""
        for again in (True, False):
            self._left()
            try:
                self._connection.request("GET", path, headers=self._head)
                response = self._connection.getresponse()
                break
            except (http.client.RemoteDisconnected, BrokenPipeError, ConnectionResetError):
                self._connection.close()  # it keeps no connection, or not for long
                if not again:
                    raise
        text = b""
        with response:  # read1 alone does not tell the connection that all was read
            while piece := response.read1(1 << 16):
                text += piece
                if len(text) > _LIMIT:
                    raise ValueError(f"{path}: more than {_LIMIT} bytes")
                self._left()
        if response.status == http.HTTPStatus.NOT_FOUND:
            return {}
        if response.status != http.HTTPStatus.OK:
            raise ConnectionError(f"{path}: HTTP {response.status}")
        found = json.loads(text)
        return found if isinstance(found, dict) else {}

    def _left(self) -> None:
        if time.monotonic() > self._end:
            raise TimeoutError(f"it has not told all after {PATIENCE:.0f} s")
