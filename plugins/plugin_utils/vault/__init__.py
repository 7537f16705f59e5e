"""Secrets of a site: generated once, stored in one file encrypted with Ansible Vault, read by name.

Scope: the file, its password, its names, and finding or redacting values in text. The plan decides which are needed.

    store = open_store(plan.site)
    store.ensure(required(plan))
    values = store.resolve(release.values)
"""

from __future__ import annotations

from .fingerprint import fingerprints, replaced
from .names import SecretsError, references, required
from .password import PasswordSource, password_source
from .redact import Redactor
from .store import FILE as STORE
from .store import Store, open_lost, open_store

__all__ = [
    "STORE",
    "PasswordSource",
    "Redactor",
    "SecretsError",
    "Store",
    "fingerprints",
    "open_lost",
    "open_store",
    "password_source",
    "references",
    "replaced",
    "required",
]
