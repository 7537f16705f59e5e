"""The failure card: one release, one object, one layer, and the next command. Secrets are redacted here."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ...vault import Redactor
from ..types import Card, Symptom
from .matching import SITE
from .rules import diagnose, migrates

_LOG_SHOWN = 12
_WIDTH = 100


def make(symptom: Symptom, redactor: Redactor, *, affected: Iterable[str] = (), site_file: str = SITE) -> Card:
    """Return the card of a symptom; the next command names ``site_file``."""
    diagnosis, clean = diagnose(symptom), redactor.text
    what = diagnosis.what
    if symptom.serving and migrates(symptom) and "db-contract" not in symptom.owner:  # which comes after new pods
        what += f". {', '.join(symptom.serving)}: pods of the former version still serve; nothing is rolled back"
    return Card(
        release=symptom.release,
        layer=diagnosis.layer,
        object=clean(diagnosis.object),
        rule=diagnosis.rule,
        what=clean(what),
        seen_at=symptom.object,
        events=tuple(replace(event, message=clean(event.message)) for event in symptom.events),
        container=f"{symptom.container} (init)" if symptom.init and symptom.container else symptom.container,
        log=tuple(clean(line) for line in symptom.log[-_LOG_SHOWN:]),
        next=clean(diagnosis.next.replace(SITE, site_file)),
        affected=tuple(affected),
    )


def text(card: Card) -> str:
    head = f"FAILED {card.release}: {card.layer}: {card.object}"
    lines = [f"┌─ {head} " + "─" * max(3, _WIDTH - len(head) - 4), f"│ {card.what}"]
    if card.seen_at != card.object:
        lines.append(f"│ seen at     {card.seen_at}")
    for number, event in enumerate(card.events):
        times = f" (x{event.count})" if event.count > 1 else ""
        lines.append(f"│ {'events' if number == 0 else '':<12}{event.reason}{times}: {event.message}")
    if card.log:
        lines.append(f"│ log of {card.container}:")
        lines.extend(f"│   {line}" for line in card.log)
    if card.affected:
        lines.append(f"│ not started {', '.join(card.affected)}")
    lines.append(f"│ next        {card.next}")
    lines.append("└─ rule " + card.rule)
    return "\n".join(lines)
