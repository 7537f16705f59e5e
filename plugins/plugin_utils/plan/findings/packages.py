"""OS packages: their source exists, somebody updates them, and no key is without effect."""

from __future__ import annotations

from collections.abc import Iterator

from ....module_utils._host.updates import UNITS as UPDATING_UNITS
from ..form import error, info
from ..layout.context import PlanContext
from ..types import Finding


def check(context: PlanContext) -> Iterator[Finding]:
    """Yield findings about keys that contradict the source of packages, and about who updates them."""
    yield from _updates(context)
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


def _updates(context: PlanContext) -> Iterator[Finding]:
    """Yield what keeps Debian's updates from a host, and what a site without them means."""
    written, host = context.site.hosts, context.plan.host
    if host.updates == "site":
        if context.layout.profile.self_updating:
            yield info("updates-by-site", "hosts.updates")(
                what="installed packages of hosts are upgraded by groundup.cloud.patch alone",
                why="security updates of kernel, openssh, libvirt, QEMU, containerd and HAProxy come when it is run",
                remedy="run it every month (page patch); or write hosts.updates: debian, with "
                "hosts.packages: host or mirror",
            )
        return
    if host.packages == "seed":
        yield error("updates-without-source", "hosts.updates", "hosts.packages")(
            what="hosts are to take Debian's security updates, and packages from the seed alone",
            why="a host reaches no archive of Debian: no update would come, and nobody would be told",
            remedy="write hosts.packages: host, or mirror with a security suite; or hosts.updates: site",
        )
    if host.packages == "mirror" and not any(suite.endswith("-security") for suite in host.packages_suites):
        yield error("updates-without-source", "hosts.updates", "hosts.packages_suites")(
            what="hosts are to take Debian's security updates from the site's mirror, and no security suite is written",
            why="unattended-upgrades takes packages of security suites alone: no update would come",
            remedy="add it to hosts.packages_suites, such as trixie-security; or write hosts.updates: site",
        )
    stopped = [name for name in written.disabled_units or () if name in UPDATING_UNITS]
    if stopped:
        yield error("updates-disabled", "hosts.updates", "hosts.disabled_units")(
            what=f"hosts are to take Debian's security updates, and {', '.join(stopped)} is to be off",
            why="each run would turn off what brings them",
            remedy="take it out of hosts.disabled_units, or write hosts.updates: site",
        )
