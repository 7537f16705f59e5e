"""Secrets of a site: generated once, kept in one file encrypted by Ansible Vault, handed out by name.

Scope: the file, its password, its names, and finding or hiding values in text. The plan decides who needs which secret.

    store = open_store(plan.site)
    store.ensure(required(plan))
    values = store.resolve(release.values)
"""

from __future__ import annotations

from .fingerprint import fingerprints
from .names import SecretsError, references, required
from .password import PasswordSource, password_source
from .redact import Redactor
from .store import FILE as STORE
from .store import Store, open_store

__all__ = [
    "STORE",
    "PasswordSource",
    "Redactor",
    "SecretsError",
    "Store",
    "fingerprints",
    "open_store",
    "password_source",
    "references",
    "required",
]
