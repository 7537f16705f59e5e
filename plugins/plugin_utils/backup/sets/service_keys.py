"""Keys that OpenStack's data are read by: Keystone's repositories (Fernet, credential), Barbican's KEK."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterable, Mapping
from typing import Any

from cryptography.fernet import Fernet, InvalidToken, MultiFernet

from ...kube.client import Api
from ...kube.types import resource_path
from ...plan.types import Plan
from ...vault import Store

TOKENS, CREDENTIALS, KEK = "keystone-fernet-keys", "keystone-credential-keys", "barbican-kek"
KEK_NAME = "barbican/kek"  # of the secrets store
# What a database has sealed by such a key: schema, table, column -> repository.
SEALED = {("keystone", "credential", "encrypted_blob"): CREDENTIALS, ("barbican", "kek_data", "plugin_meta"): KEK}
Keys = dict[str, dict[str, str]]  # by repository, by number


def read(api: Api, plan: Plan, store: Store) -> Keys:
    """Return the keys. Raises ApiError, SecretsError."""
    found: Keys = {}
    for name in (TOKENS, CREDENTIALS):
        data = api.get(resource_path("v1", "secrets", namespace=plan.openstack.namespace, name=name)).get("data") or {}
        found[name] = {number: base64.b64decode(key).decode() for number, key in data.items()}
    if "barbican" in {one.name for one in plan.openstack.releases}:
        found[KEK] = {"0": store.get(KEK_NAME)}
    return found


def about(keys: Keys) -> dict[str, Any]:
    """Return what set.json says of them."""
    return {"counts": {name: len(numbers) for name, numbers in keys.items()}}


def judge(recorded: Mapping[str, Any], text: bytes, sealed: Iterable[tuple[str, str]] | None) -> tuple[list[str], str]:
    """Return what the keys lack, and what they open.

    ``sealed``: repository and text of what the same set's databases have; None when these were not restored.
    """
    try:
        keys: Keys = json.loads(text)
        rings = {name: MultiFernet([Fernet(key) for _, key in sorted(found.items(), key=_newest_first)])
                 for name, found in keys.items()}  # fmt: skip
    except (ValueError, AttributeError, TypeError, binascii.Error) as error:
        return [f"these are no keys: {error}"], ""
    faults = []
    if about(keys) != {"counts": recorded["counts"]}:
        faults.append(f"{about(keys)['counts']}, at the backup there were {recorded['counts']}")
    opened = 0
    for name, token in sealed or ():
        try:
            rings[name].decrypt(token.encode())
            opened += 1
        except (InvalidToken, KeyError):
            faults.append(f"{name} does not open what the database of this set has")
    told = ", ".join(f"{len(found)} {name}" for name, found in keys.items())
    tried = "the databases were not restored" if sealed is None else f"{opened} tried on the databases"
    return faults, f"{told}; {tried}"


def _newest_first(one: tuple[str, str]) -> int:
    return -int(one[0])
