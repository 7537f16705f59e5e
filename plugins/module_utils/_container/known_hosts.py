"""Maintain the site's known_hosts with keys read from the hosts' file systems, never over the network."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from .._base.files import read, write_file
from .model import LabHost


def merged(text: str, keys: Mapping[LabHost, str | None], *, port: int) -> str:
    """Return known_hosts ``text`` with exactly one key per host of ``keys``; None removes the host."""
    mine = {name: key for host, key in keys.items() for name in _names(host, port)}
    lines = [line for line in text.splitlines() if not _about(line) & mine.keys()]
    lines += [f"{','.join(_names(host, port))} {key}" for host, key in keys.items() if key]
    return "".join(f"{line}\n" for line in lines)


def update(path: Path, keys: Mapping[LabHost, str | None], *, port: int) -> bool:
    """Bring the file ``path`` up to date; return whether it changed."""
    before = read(path) or ""
    after = merged(before, keys, port=port)
    if after == before:
        return False
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_file(path, after.encode(), mode=0o600)
    return True


def _names(host: LabHost, port: int) -> tuple[str, ...]:
    names = (host.address, host.name, host.fqdn)
    return names if port == 22 else tuple(f"[{name}]:{port}" for name in names)


def _about(line: str) -> set[str]:
    return set(line.partition(" ")[0].split(","))
