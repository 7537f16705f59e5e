"""All leaf certificates anew, with new keys: when that was asked for, which nothing else says, until it is done."""

from __future__ import annotations

from datetime import UTC, datetime
from fnmatch import fnmatchcase
from pathlib import Path

from ...module_utils._base import files
from ..errors import GroundupError
from ..layers.authorities import USES, key_name
from ..vault import Store
from ..vault.names import generate
from ..vault.rotation import FORMER
from .authority import BACKDATE, read_certificate
from .leaf import LeafSpec, certificate_path

FILE = "certificates-since"


def since(directory: Path) -> datetime | None:
    """Return since when leaf certificates are to have been issued; None while no rotation is open."""
    text = files.read(directory / FILE)
    if text is None:
        return None
    try:
        return datetime.fromisoformat(text.strip())
    except ValueError as error:
        raise GroundupError(
            f"no time: {error}", where=str(directory / FILE), why="older certificates are issued again",
            remedy="remove it, then run the playbook groundup.cloud.rotate again",
        ) from error  # fmt: skip


def begin(directory: Path) -> datetime:
    """Ask for it now, unless it is under way; return since when. Raises OSError."""
    if begun := since(directory):
        return begun
    now = datetime.now(UTC).replace(microsecond=0)
    files.write_file(directory / FILE, f"{now.isoformat()}\n".encode(), mode=0o644)
    return now


def end(store: Store, directory: Path) -> None:
    """Forget it, and the keys that were replaced: it is done. Raises SecretsError, OSError."""
    store.forget([name for name in store.names() if fnmatchcase(name, f"pki/*-key{FORMER}") and not _of_ca(name)])
    (directory / FILE).unlink(missing_ok=True)


def new_keys(store: Store, directory: Path, specs: tuple[LeafSpec, ...]) -> tuple[str, ...]:
    """Give certificates that are too old another key, for which `ensure_leaf` issues them. Return the keys' names.

    The former ones stay in the store until the end: the cluster knows them by their fingerprints.
    """
    after = since(directory)
    old = sorted(one.key_name for one in specs if after and _before(directory, one.user, after))

    def change(values: dict[str, str]) -> tuple[str, ...]:
        for name in old:
            values.setdefault(name + FORMER, values[name])  # of a killed run: the one the cluster knows
            values[name] = generate(name)
        return tuple(old)

    return store.edit(change) if old else ()


def _of_ca(name: str) -> bool:
    return name.removesuffix(FORMER) in map(key_name, USES)


def _before(directory: Path, user: str, after: datetime) -> bool:
    current = read_certificate(certificate_path(directory, user))
    return current is not None and current.not_valid_before_utc + BACKDATE < after
