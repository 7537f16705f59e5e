"""Names of machines: expand ranges, and find the number at the end of a name."""

from __future__ import annotations

import re

MAX_NAMES = 20_000
LABEL = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
_RANGE = re.compile(r"([a-z0-9-]*)\[([0-9]{1,6}):([0-9]{1,6})\]([a-z0-9-]*)")
_OWN = re.compile(r"(ip6-)?(localhost|loopback)[46]?|ip6-(all(nodes|routers|hosts)|localnet|mcastprefix)|broadcasthost")
_NUMBER = re.compile(r"[0-9]+$")


def expand_names(expression: str) -> list[str]:
    """Return the names that ``expression`` stands for: itself, or ``hv-[01:40]`` as hv-01 ... hv-40 (padding kept).

    Raises ValueError for no host name (RFC 1123), one that is read as an address, a range that ends before it starts,
    or one of more than 20,000 names.
    """
    if "[" not in expression and "]" not in expression:
        return [_machine_name(expression)]
    match = _RANGE.fullmatch(expression)
    if not match:
        raise ValueError("not a name range: write prefix[first:last] such as hv-[01:40], lower case")
    prefix, first, last, suffix = match.groups()
    low, high = int(first), int(last)
    if high < low:
        raise ValueError(f"the range ends before it starts: write [{last}:{first}]")
    if high - low >= MAX_NAMES:
        raise ValueError(f"stands for {high - low + 1} names: write at most {MAX_NAMES}")
    width = len(first) if first.startswith("0") else 0
    _machine_name(f"{prefix}{last}{suffix}")
    return [f"{prefix}{number:0{width}d}{suffix}" for number in range(low, high + 1)]


def number_in(name: str) -> int | None:
    """Return the number at the end of ``name`` ("hv-07": 7); None without one, and for 0 or more than 65535."""
    match = _NUMBER.search(name)
    number = int(match.group()) if match and len(match.group()) < 12 else 0
    return number if 0 < number <= 65535 else None


def is_number(label: str) -> bool:
    """Return whether resolvers read ``label`` as a number: inet_aton takes decimal, octal and hexadecimal ones."""
    return bool(re.fullmatch(r"[0-9]+|0x[0-9a-f]*", label))


def _machine_name(name: str) -> str:
    if is_number(name):
        raise ValueError(f"{name} is read as an address, not as a name: write one with a letter, such as hv-{name}")
    if _OWN.fullmatch(name):
        raise ValueError(f"{name} is every machine's own name, for itself or its link: write another")
    return host_name(name)


def host_name(name: str) -> str:
    """Return ``name`` if it is a host name (RFC 1123). Raises ValueError for anything else."""
    if not LABEL.fullmatch(name):
        raise ValueError("not a host name: write a-z, 0-9 and inner hyphens, at most 63 (RFC 1123)")
    return name
