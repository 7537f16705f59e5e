"""List the site's certificate authorities, one a use: a listener for one use believes no certificate of another."""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal, get_args

Use = Literal["site", "hypervisor", "console", "ovn", "queue", "galera", "monitoring"]
# `site` signs servers that are known by their name, and is in every host's trust store. Clients are never believed
# by it, and neither is a server whose clients compare no names.
USES: tuple[Use, ...] = get_args(Use)


def key_name(use: Use) -> str:
    """Return the name of the secret with the authority's private key."""
    return "pki/ca-key" if use == "site" else f"pki/authority/{use}-key"


def file(use: Use) -> str:
    """Return the path of the authority's certificates in the site's state directory: the one that signs is first."""
    return "ca.crt" if use == "site" else f"pki/authority/{use}.crt"


def needed(*, monitoring: bool, known: Collection[str]) -> tuple[Use, ...]:
    """Return the uses of a site with or without ``monitoring``; one whose key is ``known`` stays."""
    return tuple(use for use in USES if use != "monitoring" or monitoring or key_name(use) in known)
