"""Where backups go: not only into what they are to save."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urlsplit

from ..form import error, warning
from ..layout.context import PlanContext
from ..types import Finding, Plan


def check(context: PlanContext) -> Iterator[Finding]:
    """Yield findings about the targets of backups."""
    if context.plan.backup_directory:  # on which disk, the run says
        return
    if context.plan.backups.logs_every:
        yield warning("logs-on-host", "backups.logs_every")(
            what="binary logs are kept on the control node alone",
            why="no bucket gets them: who loses the control node with the databases has the last set, of its night",
            remedy="write backups.directory, on a file system of another place",
        )
    if host := own_store(context.plan):
        yield error("backups-in-own-object-store", "backups.s3.endpoint")(
            what=f"{host} is of this site, and backups go nowhere else",
            why="who loses the site loses its backups with it",
            remedy="name a server elsewhere; or write backups.directory, on a file system of another place, too",
        )


def own_store(plan: Plan) -> str:
    """Return the host of the bucket for backups where that is of the site itself, else ""."""
    target, edge = plan.backups.s3, plan.edge
    host = (urlsplit(target.endpoint).hostname or "") if target else ""
    own = {edge.address, *(one.name for one in edge.endpoints), *(one.address for one in plan.hosts.values())}
    own |= {edge.public.address} if edge.public else set()
    return host if host in own or host.endswith(f".{plan.domain}") else ""
