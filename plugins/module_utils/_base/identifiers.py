"""Identifiers of hardware: MAC addresses and serial numbers in one notation, and those that identify nothing."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Literal

_LENGTHS = (6, 8, 20)  # octets: Ethernet, EUI-64, InfiniBand
_ORDER = "0123456789abcdefghijklmnopqrstuvwxyz"
# Words around a number that is none; a serial number of words alone is none in any language.
_FILLERS = re.compile(
    "asset|base|baseboard|be|board|by|chassis|default|dummy|empty|enclosure|filled|invalid|na|no|none|not|null|number|oem|"
    "product|sample|sequence|serial|serialnumber|sn|string|system|tag|test|to|type|unknown|unset|x{2,}"
)
_KNOWN_FILLERS = frozenset(
    {"03000200040005000006000700080009", "00020003000400050006000700080009", "123456781234567890abcddeefaabbcc"}
)


def mac(said: object) -> str:
    """Return a MAC address in pairs with colons, from any notation. Raises ValueError when it is none."""
    text = str(said).strip().lower()
    pairs = re.split(r"[:-]", text)
    digits = "".join(pair.zfill(2) for pair in pairs) if max(map(len, pairs)) < 3 else re.sub(r"[.:-]", "", text)
    if len(digits) == 14 and digits.startswith("01"):  # PXELINUX puts the kind of hardware before it
        digits = digits[2:]
    if not re.fullmatch(r"[0-9a-f]+", digits) or len(digits) not in {2 * length for length in _LENGTHS}:
        raise ValueError(f"{text[:40]!r} is no MAC address")
    return ":".join(digits[place : place + 2] for place in range(0, len(digits), 2))


def scope(address: str) -> Literal["", "nobody", "group", "local"]:
    """Return whether a normalized MAC address is nobody's, a group's, locally administered, or a vendor's ("")."""
    if not address.strip("0:"):
        return "nobody"
    if len(address) != 17:  # of InfiniBand: no bits for that
        return ""
    first = int(address[:2], 16)
    return "group" if first & 1 else "local" if first & 2 else ""


def serial_key(said: str) -> str:
    """Return a serial number or UUID for comparison: without regard to case, spaces and hyphens."""
    return re.sub(r"[\s_-]", "", said).casefold()


def is_filler(said: str) -> bool:
    """Return whether a serial number or UUID is a firmware's filler, which many machines share."""
    text = re.sub(r"['.]|(?<=\b\w)/(?=\w\b)", "", said.casefold())  # O.E.M., N/A
    tokens: list[str] = re.findall(r"[a-z]+|[0-9]+", text)
    plain = "".join(tokens)
    rest = [token for token in tokens if not _FILLERS.fullmatch(token)]
    left = "".join(rest)
    if not re.search("[0-9]", left) or len(left) < 2 or (left.isdecimal() and len(left) < 4):
        return True
    if plain in _KNOWN_FILLERS or any(map(_patterned, (left, left.removeprefix("0x")))):
        return True
    letters, digits = (re.sub(kind, "", left) for kind in ("[0-9]", "[a-z]"))  # A1B2C3
    return any(len(token) > 8 and _counts(token, repeats=False) for token in rest) or all(
        map(_counted, filter(None, (letters, digits)))
    )


def _patterned(text: str) -> bool:
    """Return whether ``text`` is one block again and again, or counts up or down."""
    return bool(re.fullmatch(r"(.+?)\1+", text)) or _counts(text)


def _counted(token: str) -> bool:
    """Return whether ``token`` is patterned and long enough for that to be no chance."""
    return len(token) > 2 and _patterned(token)


def _counts(text: str, *, repeats: bool = True) -> bool:
    """Return whether the characters count up or down, beyond 9 too: each once, or with ``repeats`` several times."""
    steps = {_ORDER.index(b) - _ORDER.index(a) if a + b not in ("90", "09") else a for a, b in pairwise(text)}
    ways: list[set[int | str]] = [{1, "9"}, {-1, "0"}]
    if repeats:
        ways += [{0, 1}, {0, -1}]
    return any(steps <= way for way in ways)
