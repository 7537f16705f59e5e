"""Write what the Kubernetes API says of workloads and pods into one text file.

Any API server of the site is asked that answers. While none does, the file stays, and grows old.
"""

from __future__ import annotations

import http.client
import json
import ssl
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

from ..host_metrics.samples import Sample, place
from .objects import KINDS, Object

LOOKED = "groundup_workloads_looked_timestamp_seconds"
_PATIENCE = 10.0  # seconds for a piece of an answer
_PAGE = 500  # objects of one answer


def main() -> None:
    """Write the file that is named first, by the API servers of the file that is named second."""
    known = json.loads(Path(sys.argv[2]).read_text(encoding="utf-8"))
    context = ssl.create_default_context(cafile=known["authority"])
    token = Path(known["token"]).read_text(encoding="ascii").strip()
    for server in known["servers"]:
        try:
            found = [*samples(server, context, token=token), Sample(LOOKED, time.time())]
        except (OSError, http.client.HTTPException, ValueError) as error:
            print(f"<4>{server}: {type(error).__name__}: {error}", file=sys.stderr)
            continue
        place(Path(sys.argv[1]), found)
        break


def samples(server: str, context: ssl.SSLContext, *, token: str) -> Iterator[Sample]:
    """Yield what ``server`` (address and port) says. Raises OSError, HTTPException, ValueError."""
    connection = http.client.HTTPSConnection(server, context=context, timeout=_PATIENCE)
    try:
        for path, told in KINDS.items():
            yield from told(_objects(connection, path, token=token))
    finally:
        connection.close()


def _objects(connection: http.client.HTTPSConnection, path: str, *, token: str) -> Iterator[Object]:
    """Yield all objects of ``path``, page by page."""
    further = ""
    while True:
        connection.request(
            "GET", f"{path}?limit={_PAGE}&continue={quote(further)}",
            headers={"Authorization": f"Bearer {token}", "Accept": "application/json"},
        )  # fmt: skip
        with connection.getresponse() as response:
            text = response.read()
            if response.status != http.HTTPStatus.OK:
                raise ValueError(f"{path}: HTTP {response.status} {text[:200]!r}")
        found: dict[str, Any] = json.loads(text)
        yield from found["items"]
        if not (further := found["metadata"].get("continue", "")):
            return
