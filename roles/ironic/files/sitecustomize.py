"""Limit the size of HTTP responses that Ironic reads: `requests` reads a whole response, without a limit.

Python loads this file by its name when Ironic starts: neither Ironic nor sushy has an option for it.
"""

from __future__ import annotations

from typing import Any

from requests import exceptions, models

LARGEST = 16 * 2**20  # bytes; the largest real responses, a ramdisk's logs, have a tenth of this
_content = models.Response.content


def _bounded(answer: models.Response) -> Any:
    if answer._content is False and not answer._content_consumed and answer.status_code and answer.raw is not None:
        found = bytearray()
        for part in answer.iter_content(2**16):
            found += part
            if len(found) > LARGEST:
                answer.close()
                # Not a ConnectionError: sushy would retry many times.
                raise exceptions.RequestException(f"{answer.url} answers with more than {LARGEST >> 20} MiB")
        answer._content, answer._content_consumed = bytes(found), True
    return _content.fget(answer)


models.Response.content = property(_bounded)
