"""List the secrets that chart values refer to. `plugin_utils/vault` generates and stores their values."""

from __future__ import annotations

from . import RECORDS, provider
from .record import Values


def secrets() -> dict[str, str]:
    """Return all secrets of the services: name to description."""
    found: dict[str, str] = {}
    for record in RECORDS.values():
        found |= record.secrets
        found |= {
            f"{record.name}/keystone-{key}": f"{record.label}'s user {what}" for key, what in record.accounts.items()
        }
        for other in (*map(provider, (*record.uses, *record.optional)), *(RECORDS[need] for need in record.needs)):
            if other.client_account and other.name not in record.nobody_at:
                end, what = other.client_account
                found[f"{record.name}/{end}"] = f"{record.label}'s {what}"
    return found


def secret(name: str) -> Values:
    """Return the reference to secret ``name`` for chart values. Raises KeyError when no record has it."""
    if name not in secrets():
        raise KeyError(f"secret {name!r} is in no record of plugin_utils/services")
    return {"$secret": name}


def account(username: str, password: str) -> Values:
    """Return an account: its name, and a reference to the secret ``password``."""
    return {"username": username, "password": secret(password)}
