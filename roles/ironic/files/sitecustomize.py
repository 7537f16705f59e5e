"""Bounds what Ironic takes from others in one answer: `requests` reads it whole, and Python's parser dies of deep JSON.

Python loads this file by its name when Ironic starts.
"""

from __future__ import annotations

import re
from typing import Any

from requests import exceptions, models

LARGEST = 16 * 2**20  # bytes; the largest real ones are the logs of a ramdisk, a tenth of this
DEEPEST = 100  # levels; Redfish has ten
_PART = re.compile(rb'"(?:[^"\\]|\\.)*"|[][{}]', re.DOTALL)
_content, _json = models.Response.content, models.Response.json


def _bounded(answer: models.Response) -> Any:
    if answer._content is False and not answer._content_consumed and answer.status_code and answer.raw is not None:
        found = bytearray()
        for part in answer.iter_content(2**16):
            found += part
            if len(found) > LARGEST:
                answer.close()
                raise exceptions.ConnectionError(f"{answer.url} answers with more than {LARGEST >> 20} MiB")
        answer._content, answer._content_consumed = bytes(found), True
    return _content.fget(answer)


def _shallow(answer: models.Response, **how: Any) -> Any:
    depth = 0
    for part in _PART.finditer(answer.content or b""):
        depth += (part[0] in b"[{") - (part[0] in b"]}")
        if depth > DEEPEST:
            raise exceptions.JSONDecodeError(f"more than {DEEPEST} levels", "", part.start())
    return _json(answer, **how)


models.Response.content = property(_bounded)
models.Response.json = _shallow
