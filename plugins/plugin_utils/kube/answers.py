"""What the Kubernetes API server's answers say: the message of an error, the objects of a stream."""

from __future__ import annotations

import json
from collections.abc import Iterator

import urllib3

from .types import Object


def message(text: str) -> str:
    try:
        return str(json.loads(text)["message"])
    except (ValueError, KeyError, TypeError):
        return text.strip()


def lines(response: urllib3.BaseHTTPResponse) -> Iterator[Object]:
    rest = b""
    for chunk in response.stream(amt=None):
        *whole, rest = (rest + chunk).split(b"\n")
        for line in whole:
            if line.strip():
                yield dict(json.loads(line))
