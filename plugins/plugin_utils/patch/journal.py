"""Hosts in maintenance: one record each in the site's state directory, from before the first change to after the last.

A run that was killed leaves the record; the next run goes on with that host, and `status` names it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from ...module_utils._base.files import write_file
from ..paths import state_dir
from ..record import read_record


@dataclass(frozen=True, slots=True, kw_only=True)
class Maintenance:
    """What a run did to a host, and must take back."""

    begun: str  # UTC
    boot: str  # which boot of the host that was (`foresight.boot`)
    reboot: tuple[str, ...] = ()  # why it must reboot
    upgraded: bool = False  # whether packages may have changed
    cordoned: bool = False  # by us
    disabled: bool = False  # its nova-compute, by us
    returned: bool = False  # whether its node takes pods again, and members in them are awaited


def directory(site: str) -> Path:
    return state_dir(site) / "patch"


def keep(site: str, host: str, record: Maintenance) -> Maintenance:
    """Write the record of ``host``; return it. Raises OSError."""
    write_file(directory(site) / f"{host}.json", f"{json.dumps(asdict(record))}\n".encode(), mode=0o600)
    return record


def find(site: str, host: str) -> Maintenance | None:
    """Return the record of ``host``, None when it is not in maintenance. Raises GroundupError for an unreadable one."""
    return read_record(
        directory(site) / f"{host}.json", _read, what=f"the record of the maintenance of {host}",
        why="what a run did to the host, and must take back, is not known",
        remedy="see whether it serves (groundup.cloud.status); kubectl uncordon or groundup.cloud.undrain if not; then "
        "remove the file",
    )  # fmt: skip


def change(site: str, host: str, **what: object) -> Maintenance | None:
    """Change fields of the record of ``host``, if it has one; return it."""
    found = find(site, host)
    if found is None:
        return None
    return keep(site, host, replace(found, **what))  # type: ignore[arg-type]  # fields of Maintenance


def forget(site: str, host: str) -> None:
    """Remove the record of ``host``: it serves again."""
    (directory(site) / f"{host}.json").unlink(missing_ok=True)


def hosts(site: str) -> list[str]:
    return sorted(path.stem for path in directory(site).glob("*.json"))


def _read(content: Mapping[str, object]) -> Maintenance:
    fields: dict[str, Any] = {**content}  # as `keep` wrote them
    return Maintenance(**{**fields, "reboot": tuple(fields["reboot"])})
