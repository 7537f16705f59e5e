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
from .central import ALERTS_URL, RULES_URL, STORE_URL

PATIENCE = 90.0  # seconds beyond two scrapes: the store reads files of targets once a minute


def verify(changes: Changes, given: Mapping[str, Any]) -> dict[str, Any]:
    """Wait until all is well; return the number of targets. Raises GroundupError."""
    timeout = 2 * given["interval"] + PATIENCE
    needed = [one for one in given["targets"] if not one["by_hand"]]
    if bad := wait_until(partial(silent, needed), timeout=timeout):
        raise _down(bad, needed)
    by_hand = [one for one in given["targets"] if one["by_hand"]]  # asked once: no wait switches them on
    found = silent(by_hand)
    for one in by_hand:
        if why := found.get(target_name(one)):
            changes.warnings.append(
                f"{target_name(one)} does not answer ({why}): {one['by_hand']} (docs/monitoring.md)"
            )
    if why := wait_until(unjudged, timeout=timeout):
        raise _mute(why)
    return {"changed": False, "targets": len(given["targets"]), "silent": sorted(found)}


def silent(targets: Sequence[Mapping[str, str]]) -> dict[str, str]:
    """Return "job of object" of each of ``targets`` that does not answer the store, and why."""
    try:
        active = _asked(f"{STORE_URL}/api/v1/targets?state=active")["data"]["activeTargets"]
    except (OSError, http.client.HTTPException, ValueError) as error:
        return {target_name(one): f"the store does not answer: {error}" for one in targets}
    found = {(one["labels"].get("job"), one["labels"].get("object")): one for one in active}
    states = {target_name(one): found.get((one["job"], one["object"])) for one in targets}
    return {name: _why(one) for name, one in states.items() if not one or one["health"] != "up"}


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


def target_name(target: Mapping[str, str]) -> str:
    """Return the name by which a target is told."""
    return f"{target['job']} of {target['object']}"


def _asked(url: str) -> Any:
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with direct.open(url, timeout=10) as answer:
        return json.load(answer)


def _down(found: Mapping[str, str], targets: Sequence[Mapping[str, str]]) -> GroundupError:
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
