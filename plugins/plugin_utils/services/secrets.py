"""Names of the secrets that chart values refer to. Their values are made and kept by `plugin_utils/secrets`."""

from __future__ import annotations

from . import RECORDS, provider
from .record import Values


def secrets() -> dict[str, str]:
    """Return every secret of the services: its name and what it is."""
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
    """Return the reference to secret ``name`` that stands in the values. Raises KeyError for one no record has."""
    if name not in secrets():
        raise KeyError(f"secret {name!r} is in no record of plugin_utils/services")
    return {"$secret": name}


def account(username: str, password: str) -> Values:
    """Return an account: its name and the reference to the secret called ``password``."""
    return {"username": username, "password": secret(password)}
