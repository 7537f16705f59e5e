"""Where backups go: not only into what they are to save."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urlsplit

from ..form import error
from ..layout.context import PlanContext
from ..types import Finding


def check(context: PlanContext) -> Iterator[Finding]:
    """Yield findings about the targets of backups."""
    target, edge = context.plan.backups.s3, context.plan.edge
    if not target or context.plan.backup_directory:
        return
    host = urlsplit(target.endpoint).hostname or ""
    own = {edge.address, *(one.name for one in edge.endpoints), *(one.address for one in context.plan.hosts.values())}
    own |= {edge.public.address} if edge.public else set()
    if host in own or host.endswith(f".{context.site.domain}"):
        yield error("backups-in-own-object-store", "backups.s3.endpoint")(
            what=f"{host} is of this site, and backups go nowhere else",
            why="who loses the site loses its backups with it",
            remedy="name a server elsewhere; or write backups.directory, on a file system of another place, too",
        )
