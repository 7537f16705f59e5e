"""What Ironic takes in one answer: so many bytes, and every answer within them as it is."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.paths import COLLECTION
from requests import exceptions, models

PROGRAM = COLLECTION / "roles/ironic/files/sitecustomize.py"


class Endless(io.RawIOBase):
    """An answer without an end; counts what is taken."""

    taken = 0

    def read(self, size: int = -1) -> bytes:
        self.taken += size
        return b" " * size


@pytest.fixture(autouse=True)
def bounds(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Load the program, and have `requests` as before afterwards."""
    monkeypatch.setattr(models.Response, "content", models.Response.content)
    found: dict[str, Any] = {"__name__": "sitecustomize"}
    exec(compile(PROGRAM.read_text(), PROGRAM, "exec"), found)  # noqa: S102  # a program of ours
    return found


def answer(raw: Any) -> models.Response:
    found = models.Response()
    found.status_code, found.raw, found.url = 200, raw, "https://10.77.1.1/redfish/v1"
    return found


def test_an_answer_without_an_end_is_given_up(bounds: dict[str, Any]) -> None:
    raw = Endless()
    with pytest.raises(exceptions.RequestException, match="more than 16 MiB") as caught:
        _ = answer(raw).content
    assert not isinstance(caught.value, exceptions.ConnectionError), "sushy would ask again, many times"
    assert raw.taken < bounds["LARGEST"] + 2**20


def test_other_answers_are_what_they_were() -> None:
    for value in ({}, {"Members": [{"@odata.id": "/redfish/v1"}] * 30000}):
        found = answer(io.BytesIO(json.dumps(value).encode()))
        assert (found.json(), found.json()) == (value, value)
        assert found.content == json.dumps(value).encode()
    with pytest.raises(exceptions.JSONDecodeError):
        answer(io.BytesIO(b"\x00\xff<html>{")).json()
    assert answer(None).content is None
