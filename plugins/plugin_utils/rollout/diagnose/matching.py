"""Parts of rules: a match on the symptom, a search in its texts, the next command."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from ...health.verification import Layer
from ..types import Diagnosis, Symptom

SITE = "SITE"  # placeholder of the site file's path in a next command, as NAMESPACE of the release's
NAMES = r"name or service not known|temporary failure in name resolution|could not resolve|no such host|getaddrinfo"

Match = Callable[[Symptom], Diagnosis | None]


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule's name (stable, shown on the card) and its test."""

    name: str
    match: Match


def describe(symptom: Symptom) -> str:
    """Return the command that describes the symptom's object."""
    kind, _, name = symptom.object.partition("/")
    if not name:  # not an object but the release itself
        return f"helm --namespace {symptom.namespace} history {symptom.release}"
    return f"kubectl --namespace {symptom.namespace} describe {kind.lower()} {name}"


def logs(symptom: Symptom) -> str:
    """Return the command that shows the log of the container at fault."""
    kind, _, name = symptom.object.partition("/")
    if kind != "Pod":
        return describe(symptom)
    container = f" --container {symptom.container}" if symptom.container else ""
    previous = "" if symptom.exit_code is None else " --previous"
    return f"kubectl --namespace {symptom.namespace} logs {name}{container}{previous}"


def said(symptom: Symptom, pattern: str) -> str:
    """Return the symptom's last line that matches ``pattern``, shortened, or ""."""
    for line in reversed(symptom.text.splitlines()):
        if re.search(pattern, line, re.IGNORECASE):
            return shortened(line.strip())
    return ""


def shortened(line: str) -> str:
    """Shorten ``line`` for a card. Errors wrap their cause from the front, so the end is kept."""
    return line if len(line) <= 240 else f"{line[:77]} ... {line[-158:]}"


def text_rule(
    name: str, layer: Layer, pattern: str, meaning: str, *, next_: Match | Callable[[Symptom], str] | str,
    patience: float | None = None, only: Callable[[Symptom], bool] | None = None,
) -> Rule:  # fmt: skip
    """Return a rule that matches when ``pattern`` occurs in a symptom's texts."""

    def match(symptom: Symptom) -> Diagnosis | None:
        if only is not None and not only(symptom):
            return None
        line = said(symptom, pattern)
        if not line:
            return None
        command = next_(symptom) if callable(next_) else next_
        return Diagnosis(
            rule=name, layer=layer, object=symptom.object, what=f"{meaning}: {line}",
            next=str(command).replace("NAMESPACE", symptom.namespace), patience=patience,
        )  # fmt: skip

    return Rule(name, match)
