"""Ask the store for every target of the plan, and whether an alert gets from a rule to Alertmanager."""

from __future__ import annotations

import http.client
import json
import urllib.parse
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from .._base.changes import Changes
from .._base.errors import GroundupError
from .._base.text import few
from .._base.wait import wait_until
from .._host.watched import PROOF
from .central import AGENT_URL, ALERTS_URL, LOGS_URL, RULES_URL, STORE_URL

AGENT = "agent"  # the job of what scrapes, where that is not the store
LOGS = "logs"  # the job whose targets are hosts that write them: nobody scrapes it
# Of the journal, of which each host has a line in five minutes (sender.beat_texts): pods' lines may come without it.
JOURNALS = "_time:10m _HOSTNAME:* | stats by (host) count() lines"
PATIENCE = 90.0  # seconds beyond two scrapes: the store reads files of targets once a minute


def verify(_: Changes, given: Mapping[str, Any]) -> dict[str, Any]:
    """Wait until all is well; return the number of targets. Raises GroundupError."""
    timeout = 2 * given["interval"] + PATIENCE
    if bad := wait_until(partial(silent, given["targets"]), timeout=timeout):
        raise _down(bad, given["targets"])
    if why := wait_until(unjudged, timeout=timeout):
        raise _mute(why)
    return {"changed": False, "targets": len(given["targets"])}


def silent(targets: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return "job of object" of each of ``targets`` that should answer or write and does not, and why."""
    written = [one for one in targets if one["job"] == LOGS]
    return _unanswered([one for one in targets if one["job"] != LOGS]) | (_unwritten(written) if written else {})


def _unwritten(targets: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return those of which the store has no line: who is answered 200 may still have stored nothing."""
    try:
        said = _asked(f"{LOGS_URL}/select/logsql/stats_query?{urllib.parse.urlencode({'query': JOURNALS})}")
    except (OSError, http.client.HTTPException, ValueError) as error:
        return {target_name(one): f"the store of logs does not answer: {error}" for one in targets}
    hosts = {one["metric"].get("host") for one in said["data"]["result"]}
    return {target_name(one): "no line for ten minutes" for one in targets if one["object"] not in hosts}


def _unanswered(targets: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    scraper = AGENT_URL if any(one["job"] == AGENT for one in targets) else STORE_URL
    try:
        active = _asked(f"{scraper}/api/v1/targets?state=active")["data"]["activeTargets"]
    except (OSError, http.client.HTTPException, ValueError) as error:
        return {target_name(one): f"who scrapes does not answer: {error}" for one in targets}
    found = {(one["labels"].get("job"), one["labels"].get("object")): one for one in active}
    states = {(one["job"], one["object"]): found.get((one["job"], one["object"])) for one in targets}
    down = {key: _why(one) for key, one in states.items() if not one or one["health"] != "up"}
    answering = {job for job, _ in states.keys() - down.keys()}
    spared = {one["job"] for one in targets if one["one_answers"]} & answering
    return {f"{job} of {where}": why for (job, where), why in down.items() if job not in spared}


def unjudged() -> str:
    """Return why no alert gets from the rules to Alertmanager; "" when one does."""
    try:
        groups = _asked(f"{RULES_URL}/api/v1/rules")["data"]["groups"]
        broken = [
            f"{one['name']}: {one['lastError']}" for group in groups for one in group["rules"] if one["lastError"]
        ]
        filtered = urllib.parse.quote(f'alertname="{PROOF}"')
        heard = _asked(f"{ALERTS_URL}/api/v2/alerts?filter={filtered}")
    except (OSError, http.client.HTTPException, ValueError) as error:
        return str(error)
    if broken:
        return f"rules that cannot be judged: {few(broken)}"
    return "" if heard else f"Alertmanager has not heard {PROOF}, which always fires"


def _why(target: Mapping[str, Any] | None) -> str:
    return (target["lastError"] or "not asked yet") if target else "the store has no such target"


def target_name(target: Mapping[str, Any]) -> str:
    """Return the name by which a target is told."""
    return f"{target['job']} of {target['object']}"


def _asked(url: str) -> Any:
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with direct.open(url, timeout=10) as answer:
        return json.load(answer)


def _down(found: Mapping[str, str], targets: Sequence[Mapping[str, Any]]) -> GroundupError:
    return GroundupError(
        f"targets that do not answer: {few(found)}",
        where="; ".join(_first(found)),
        why="faults of what is not asked raise no alert but that it is silent",
        remedy="; ".join(dict.fromkeys(one["remedy"] for one in targets if target_name(one) in found)),
    )


def _first(found: Mapping[str, str]) -> Iterator[str]:
    for name, why in list(found.items())[:3]:
        yield f"{name}: {why}"


def _mute(why: str) -> GroundupError:
    return GroundupError(
        f"alerts do not arrive: {why}",
        where="the monitoring host: vmalert and Alertmanager, on loopback",
        why="nobody would hear of a fault",
        remedy="journalctl -n 50 -u groundup-alert-rules -u prometheus-alertmanager",
    )
