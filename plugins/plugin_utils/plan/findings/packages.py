"""OS packages: their source exists, and no key is without effect."""

from __future__ import annotations

from collections.abc import Iterator

from ..form import error
from ..layout.context import PlanContext
from ..types import Finding


def check(context: PlanContext) -> Iterator[Finding]:
    """Yield findings about keys that contradict the source of packages."""
    written, source = context.site.hosts, context.plan.host.packages
    if source == "mirror" and not written.packages_url:
        yield error("packages-url-missing", "hosts.packages_url", "hosts.packages")(
            what="hosts are to take packages from a mirror, and none is written",
            why="no host could install what the layers need",
            remedy="write hosts.packages_url, or hosts.packages: seed",
        )
    if source != "mirror" and written.packages_url:
        yield error("packages-url-unused", "hosts.packages_url", "hosts.packages")(
            what=f"hosts take packages from {'the seed' if source == 'seed' else 'their own sources'}, "
            f"and a mirror is written: {written.packages_url}",
            why="the mirror would have no effect",
            remedy="write hosts.packages: mirror, or leave hosts.packages_url out",
        )
    if written.packages_ca and not (written.packages_url or "").startswith("https://"):
        yield error("packages-ca-unused", "hosts.packages_ca", "hosts.packages_url")(
            what=f"a CA of a mirror is written, and no mirror with TLS: {written.packages_url}",
            why="the CA would have no effect: what hosts fetch would not be protected by it",
            remedy="write hosts.packages_url with https://, or leave hosts.packages_ca out",
        )
    if source == "seed" and not context.plan.supply.seed:
        yield error("packages-without-seed", "hosts.packages", "supply.registry")(
            what="hosts are to take packages from the seed, and the site has none",
            why="nobody would serve them",
            remedy="write hosts.packages: host, or mirror with hosts.packages_url; or give a machine the role seed",
        )
