"""The site's own certificate authority, and the certificates it issues.

Scope: keys are in the secrets store, certificates (public) in the site's state directory. The CAs of Kubernetes belong
to kubeadm and are not touched here.
"""

from __future__ import annotations

from .authority import Authority, PkiError, ensure_authority
from .bundle import ensure_bundle
from .leaf import Leaf, LeafSpec, ensure_leaf
from .openpgp import ensure_packages_key
from .own import belongs, check_key
from .users import users

__all__ = [
    "Authority",
    "Leaf",
    "LeafSpec",
    "PkiError",
    "belongs",
    "check_key",
    "ensure_authority",
    "ensure_bundle",
    "ensure_leaf",
    "ensure_packages_key",
    "users",
]
