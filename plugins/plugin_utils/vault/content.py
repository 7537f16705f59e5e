"""What is in the file of a secrets store, decrypted."""

from __future__ import annotations

from pathlib import Path

import yaml

from .names import SecretsError


def parse(text: bytes, path: Path) -> tuple[str, dict[str, str]]:
    """Return identity and values of a store's decrypted ``text``; ``path`` is its file. Raises SecretsError."""
    try:
        content = yaml.safe_load(text)
    except yaml.YAMLError:
        content = None  # not chained: a YAML error quotes the faulty line
    match content:
        case {"version": 1, "identity": str(identity), "secrets": dict(values)} if all(
            isinstance(item, str) for pair in values.items() for item in pair
        ):
            return identity, values
    raise SecretsError(
        "the secrets store opens, but its content is not what this version writes",
        where=str(path),
        why="it must be a mapping of version 1 with identity and secrets, every secret a string",
        remedy="look at it with `ansible-vault view`, quote what is not a string, or restore it from your backup",
    )
