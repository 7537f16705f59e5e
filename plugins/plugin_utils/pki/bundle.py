"""The bundle of CAs that clients of the public names trust: the site's own, a company's, a public one."""

from __future__ import annotations

from ...module_utils._base import files
from ..https import BUNDLE, site_authority, trust_file
from ..plan.types import Plan
from .authority import Authority


def ensure_bundle(plan: Plan, authority: Authority, *, write: bool) -> str:
    """Write the bundle of ``plan`` beside the certificate of ``authority``; return why it changed, "" if not.

    A site that trusts its own CA alone has no bundle. Raises OSError.
    """
    path, alone = trust_file(plan), site_authority(plan.site)
    if path == alone:
        former = alone.with_name(BUNDLE)
        if former.exists() and write:
            former.unlink()
        return ""
    text = "".join((authority.pem, *plan.host.trusted_cas, plan.edge.public_root))
    before = files.read(path)
    if before == text:
        return ""
    if write:
        files.write_file(path, text.encode(), mode=0o644)
    return "new" if before is None else "other CAs"
