"""Silences of Alertmanager while a run works on something: made anew or made longer, and ended."""

from __future__ import annotations

import http.client
import json
import re
import urllib.parse
import urllib.request
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from .._base.changes import Changes
from .._base.errors import GroundupError
from .._host import ownership, watched
from .central import ALERTS_URL

CREATOR = "groundup.cloud"
_FORM = "%Y-%m-%dT%H:%M:%SZ"


def silence(changes: Changes, given: Mapping[str, Any]) -> dict[str, Any]:
    """Mute alerts about what ``given`` names for ``given["minutes"]`` from now on. Raises GroundupError."""
    now = datetime.now(UTC)  # of this host, as Alertmanager has it
    span = {"startsAt": now.strftime(_FORM), "endsAt": (now + timedelta(minutes=given["minutes"])).strftime(_FORM)}
    for wanted, found in _ours(changes, given):
        # With its own begin it is the same one, and ends later.
        begun = {"id": found["id"], "startsAt": found["startsAt"]} if found else {}
        _asked("silences", body={"matchers": wanted, "createdBy": CREATOR, "comment": given["run"], **span, **begun})
    return {"changed": False}


def hear(changes: Changes, given: Mapping[str, Any]) -> dict[str, Any]:
    """End the silences about what ``given`` names. Raises GroundupError."""
    for _, found in _ours(changes, given):
        if found:
            _asked(f"silence/{found['id']}", method="DELETE")
    return {"changed": False}


def _ours(changes: Changes, given: Mapping[str, Any]) -> Iterator[tuple[list[dict[str, Any]], dict[str, Any] | None]]:
    """Yield the matchers of each silence, and the one that there is; none before there is an Alertmanager."""
    ownership.refuse_other(given["site"])
    if changes.check or not watched.unit_file(watched.ALERTS).exists():
        return
    query = urllib.parse.urlencode({"filter": f'site="{given["site"]}"'})
    there = [
        one
        for one in _asked(f"silences?{query}")
        if one["createdBy"] == CREATOR and one["status"]["state"] != "expired"
    ]
    for wanted in _about(given):
        yield wanted, next((one for one in there if _key(one["matchers"]) == _key(wanted)), None)


def _about(given: Mapping[str, Any]) -> Iterator[list[dict[str, Any]]]:
    """Yield the matchers of each silence: an alert is muted that all of one match."""
    hosts = [re.escape(name) for name in given["hosts"]]
    objects = [*hosts, *(rf"(mon|mgr)\.{name}" for name in hosts), *(rf"osd\.{number}" for number in given["osds"])]
    for label, values in (("object", objects), ("server", hosts), ("layer", given["layers"])):
        if values:
            yield [
                {"name": "site", "value": given["site"], "isRegex": False, "isEqual": True},
                {"name": label, "value": "|".join(values), "isRegex": True, "isEqual": True},
            ]


def _key(matchers: list[dict[str, Any]]) -> set[tuple[str, str]]:
    return {(one["name"], one["value"]) for one in matchers}


def _asked(path: str, *, body: Mapping[str, Any] | None = None, method: str | None = None) -> Any:
    """Return the answer of Alertmanager. Raises GroundupError."""
    request = urllib.request.Request(  # noqa: S310  # on loopback
        f"{ALERTS_URL}/api/v2/{path}", data=json.dumps(body).encode() if body else None, method=method,
        headers={"Content-Type": "application/json"},
    )  # fmt: skip
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with direct.open(request, timeout=10) as answer:
            return json.loads(answer.read() or b"{}")
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise GroundupError(
            f"Alertmanager does not take or end a silence: {error}",
            where=f"{ALERTS_URL}/api/v2/{path.partition('?')[0]}",
            why="alerts about what this run works on are sent as ever, or stay muted until the silence ends by itself",
            remedy=f"journalctl -n 50 -u {watched.ALERTS}",
        ) from error
