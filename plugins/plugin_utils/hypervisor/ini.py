"""Read and write configuration files of OpenStack's services as text; parts that are not needed stay unchanged."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping

_SECTION = re.compile(r"^\[(?P<name>[^]]+)\]\s*$")
_OPTION = re.compile(r"^(?P<name>[A-Za-z0-9_.-]+)\s*[=:]\s*(?P<value>.*)$")

Sections = Mapping[str, Mapping[str, object]]


def sections(text: str) -> Iterator[tuple[str, list[str]]]:
    """Yield each section's name and lines, its header first; lines before any section have the name ""."""
    name, lines = "", list[str]()
    for line in text.splitlines():
        if found := _SECTION.match(line):
            if lines:
                yield name, lines
            name, lines = found["name"], []
        lines.append(line)
    if lines:
        yield name, lines


def without(text: str, names: Collection[str]) -> str:
    """Return ``text`` without the sections called ``names``."""
    return "".join(f"{line}\n" for name, lines in sections(text) if name not in names for line in lines)


def only(text: str, names: Collection[str]) -> str:
    """Return the sections of ``text`` called ``names``."""
    return "".join(f"{line}\n" for name, lines in sections(text) if name in names for line in lines)


def without_option(text: str, section: str, option: str) -> str:
    """Return ``text`` without an option and the lines that continue it."""
    kept, gone = list[str](), False
    for name, lines in sections(text):
        for line in lines:
            match = _OPTION.match(line)
            gone = bool(name == section and match and match["name"] == option) or (gone and line[:1].isspace())
            if not gone:
                kept.append(f"{line}\n")
    return "".join(kept)


def value(text: str, section: str, option: str) -> str | None:
    """Return the last value of an option, as oslo.config reads it; None when it is not there."""
    found = None
    for name, lines in sections(text):
        for line in lines if name == section else ():
            if (match := _OPTION.match(line)) and match["name"] == option:
                found = match["value"].strip()
    return found


def text_of(values: Sections) -> str:
    """Return a configuration file. Lists are joined by commas; None leaves an option out."""
    parts = []
    for name, options in values.items():
        lines = [f"{option} = {_word(said)}".rstrip() for option, said in options.items() if said is not None]
        parts.append("\n".join([f"[{name}]", *lines]))
    return "\n\n".join(parts) + "\n"


def _word(said: object) -> str:
    if isinstance(said, bool):
        return str(said).lower()
    return ",".join(map(str, said)) if isinstance(said, (list, tuple)) else str(said)
