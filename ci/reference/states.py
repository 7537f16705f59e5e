"""The picture of a machine's way, from the tables of `plugin_utils/metal/way.py`: states, Ironic's, steps, cards."""

from __future__ import annotations

from typing import get_args
from xml.sax.saxutils import escape

from ansible_collections.groundup.cloud.plugins.plugin_utils.metal import way
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.output.drawing import FAINT, FRAME, INK, PAPER

PICTURE = "docs/_static/machine-states.svg"
_LEFT, _WIDE, _GAP, _MIDDLE, _RIGHT, _WIDTH = 24, 470, 30, 517, 540, 980
_GOOD, _BAD = "#2f7d4f", "#b8323a"
_FROM = {  # whence a machine comes to a state beside the way
    "failed": "with a card",
    "quarantined": "after discovered: it fits nothing",
    "retiring": "when asked for: its disks are erased",
    "retired": "after retiring",
}


def picture() -> str:
    """Return the picture. States up to `serving` are a line; those after it are what else may become of a machine."""
    states = get_args(way.State)
    last = states.index("serving") + 1
    parts, falls, top = list[str](), list[int](), _LEFT
    for state in states[:last]:
        box, tall = _box(state, top, end=state == "serving")
        parts += box
        if state != "serving":
            falls.append(top + 20)
            parts += _arrow(top + tall, _verb(state))
        top += tall + _GAP
    others, end = _aside(sorted(states[last:], key=lambda state: state != "failed"))
    parts += others
    parts += [_dashed(_LEFT + _WIDE, y, _MIDDLE, y) for y in falls]
    parts += [
        _dashed(_MIDDLE, falls[0], _MIDDLE, falls[-1]),
        _dashed(_MIDDLE, falls[0], _RIGHT - 2, falls[0], tip=True),
    ]
    height = max(top - _GAP, end) + _LEFT
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{height}"',
            f'     viewBox="0 0 {_WIDTH} {height}"',
            '     font-family="DejaVu Sans, Verdana, Helvetica, Arial, sans-serif">',
            "<title>States of a machine</title>",
            '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="5" markerHeight="5" orient="auto">'
            f'<path d="M0 0L8 4L0 8z" fill="{FAINT}"/></marker></defs>',
            f'<rect width="{_WIDTH}" height="{height}" fill="{PAPER}"/>',
            *parts,
            "</svg>",
            "",
        ]
    )


def _box(state: str, top: int, *, end: bool) -> tuple[list[str], int]:
    """Return a box with what Ironic calls the state and what is done there, and its height."""
    doing: dict[str, list[str]] = {}
    for ironic, (ours, _, what) in way._STEPS.items():
        if ours == state:
            doing.setdefault(what, []).append(ironic)
    tall = 36 + 18 * len(doing) + (6 if doing else 0)
    return [
        f'<rect x="{_LEFT}" y="{top}" width="{_WIDE}" height="{tall}" rx="8" fill="#f5f8fb"'
        f' stroke="{_GOOD if end else FRAME}"/>',
        _text(_LEFT + 14, top + 24, state, size=15, bold=True, fill=_GOOD if end else INK),
        *(
            _text(_LEFT + 14, top + 46 + 18 * row, f"{', '.join(names)}: {what}", size=11)
            for row, (what, names) in enumerate(doing.items())
        ),
    ], tall


def _verb(state: str) -> str:
    """Return what is asked of Ironic for the next state."""
    verbs = [step[1] for step in way._STEPS.values() if step[0] == state and step[1] not in ("wait", "done")]
    again = f", {way.ATTEMPTS} times at most" if "deploy" in verbs else ""
    return ", ".join(dict.fromkeys(verbs)) + again


def _arrow(top: int, label: str) -> list[str]:
    x = _LEFT + 60
    return [
        f'<line x1="{x}" y1="{top}" x2="{x}" y2="{top + _GAP - 1}" stroke="{FAINT}" stroke-width="2"'
        ' marker-end="url(#tip)"/>',
        _text(x + 14, top + _GAP / 2 + 4, label, size=11, fill=FAINT),
    ]


def _dashed(x1: int, y1: int, x2: int, y2: int, *, tip: bool = False) -> str:
    more = ' marker-end="url(#tip)"' if tip else ""
    return f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" stroke="{_BAD}" stroke-dasharray="5 4"{more}/>'


def _aside(states: list[str]) -> tuple[list[str], int]:
    """Return what is beside the way, `failed` with the cards it can have; and where that ends."""
    parts: list[str] = []
    top = _LEFT
    for state in states:
        failed = state == "failed"
        colour = _BAD if failed else FAINT
        others = [way._IN_USE.what, way._SINCE.what, way._LOST.what]
        cards = [what for _, what, _, _ in way._CARDS] + others if failed else []
        tall = 36 + 18 * len(cards) + (6 if cards else 0)
        parts += [
            f'<rect x="{_RIGHT}" y="{top}" width="{_WIDTH - _RIGHT - _LEFT}" height="{tall}" rx="8"'
            f' fill="{"#fdf3f3" if failed else PAPER}" stroke="{colour}"/>',
            _text(_RIGHT + 14, top + 24, state, size=15, bold=True, fill=colour),
            _text(_RIGHT + 130, top + 24, _FROM.get(state, ""), size=11, fill=FAINT),
            *(_text(_RIGHT + 14, top + 46 + 18 * row, card, size=11) for row, card in enumerate(cards)),
        ]
        top += tall + _GAP
    return parts, top - _GAP


def _text(x: float, y: float, words: str, *, size: int, fill: str = INK, bold: bool = False) -> str:
    more = ' font-weight="bold"' if bold else ""
    return f'<text x="{x:g}" y="{y:g}" font-size="{size}" fill="{fill}"{more}>{escape(words)}</text>'
