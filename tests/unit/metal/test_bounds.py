"""What Ironic takes in one answer: so many bytes, so many levels, and every answer within them as it is."""

from __future__ import annotations

import io
import itertools
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
    for name in ("content", "json"):
        monkeypatch.setattr(models.Response, name, getattr(models.Response, name))
    found: dict[str, Any] = {"__name__": "sitecustomize"}
    exec(compile(PROGRAM.read_text(), PROGRAM, "exec"), found)  # noqa: S102  # a program of ours
    return found


def answer(raw: Any) -> models.Response:
    found = models.Response()
    found.status_code, found.raw, found.url = 200, raw, "https://10.77.1.1/redfish/v1"
    return found


def test_an_answer_without_an_end_is_given_up(bounds: dict[str, Any]) -> None:
    raw = Endless()
    with pytest.raises(exceptions.ConnectionError, match="more than 16 MiB"):
        _ = answer(raw).content
    assert raw.taken < bounds["LARGEST"] + 2**20


def test_json_of_too_many_levels_is_none() -> None:
    for text in (b"[" * 10**6, b'{"a":' * 200 + b"1" + b"}" * 200):
        with pytest.raises(exceptions.JSONDecodeError):
            answer(io.BytesIO(text)).json()


def test_other_answers_are_what_they_were() -> None:
    nested: Any = 1
    for _ in itertools.repeat(None, 50):
        nested = [nested]
    for value in ({}, {"Members": [{"@odata.id": "/redfish/v1"}] * 300}, {"a": "[" * 5000 + '"\\' + "{" * 500}, nested):
        found = answer(io.BytesIO(json.dumps(value).encode()))
        assert (found.json(), found.json()) == (value, value)
        assert found.content == json.dumps(value).encode()
    with pytest.raises(exceptions.JSONDecodeError):
        answer(io.BytesIO(b"\x00\xff<html>{")).json()
    assert answer(None).content is None
