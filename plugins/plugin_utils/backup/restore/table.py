"""What a restore replaces, and with what: the rows that the operator sees before anything is done."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import TYPE_CHECKING

from ..sets.disk import SetBackup
from ..sets.take import ETCD, KEYS, MARIADB, STATE
from . import services

if TYPE_CHECKING:
    from .decide import Present

ORDER = (STATE, KEYS, ETCD, *services.PARTS, MARIADB)  # in which parts are restored


def table(backup: SetBackup, parts: Collection[str], now: Present, *, logs: str = "") -> list[dict[str, str]]:
    """Return what replaces what, a row a part. ``logs``: what follows MariaDB's."""
    more = {MARIADB: f"; {logs}"} if logs else {}
    return [
        {"part": part, "now": _now(part, now), "set": _saved(part, backup) + more.get(part, "")}
        for part in ORDER if part in parts
    ]  # fmt: skip


def taken(backup: SetBackup, part: str) -> str:
    """Return when a part was taken."""
    return f"{datetime.fromisoformat(backup.parts[part]['taken']):%Y-%m-%d %H:%M:%S} UTC"


def _saved(part: str, backup: SetBackup) -> str:
    about, when = backup.parts[part], taken(backup, part)
    if part == ETCD:
        return f"{min(about['keys'])} keys at revision {min(about['revision'])}, of {when}"
    if part == MARIADB:
        return f"{held({table: min(pair) for table, pair in about['rows'].items()})}, of {when}"
    if part in services.PARTS:
        return f"{', '.join(f'{number} {name}' for name, number in about['counts'].items())}, of {when}"
    return f"{about['files']} files, of {when}"


def _now(part: str, now: Present) -> str:
    if part in now.services:
        return now.services[part].told
    if part == STATE:
        return f"secrets store {now.store}" if now.store else "none"
    if part == MARIADB:
        return "restored already" if now.placed else held(now.database.rows) if now.database else "no member answers"
    if part == KEYS:
        lacking = sorted(host for host, said in now.control.answers.items() if said and not said["keys"])
        return f"missing on {', '.join(lacking)}" if lacking else "there: not touched"
    if now.control.passed(now.restore):
        return f"restored already on {now.control.target(now.restore)}"
    said = [f"{host}: {one['keys']} keys at revision {one['revision']}" for host, one in now.control.living("").items()]
    anew = f"none, made anew: {', '.join(now.control.anew)}" if now.control.makes_anew(now.restore) else ""
    return "; ".join(sorted(said)) or anew or "no member answers"


def held(rows: Mapping[str, int]) -> str:
    return f"{len({table.partition('.')[0] for table in rows})} databases, {sum(rows.values())} rows"
