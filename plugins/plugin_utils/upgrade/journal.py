"""Which upgrade of a site's Kubernetes is under way: what the cluster cannot say. How far it is, is read from it.

While one is open, every other layer goes by the version of the oldest API server, not by the site file: a host that is
lost in the middle is made again as a member of the cluster that there is.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from ...module_utils._base.files import read, write_file
from ..errors import GroundupError
from ..paths import state_dir
from ..plan import make_plan
from ..plan.model import Site
from ..plan.types import Plan

FILE = "kubernetes-upgrade.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Upgrade:
    """An upgrade that has begun."""

    source: str  # version it began with
    target: str
    live: str  # version that other layers go by: that of the oldest API server
    begun: str  # time

    @property
    def other(self) -> str:
        """Return the version that members may have beside the live one."""
        return self.target if self.live == self.source else self.source


def under_way(site: str) -> Upgrade | None:
    """Return the upgrade that has begun and not ended, None without one. Raises GroundupError when it is unreadable."""
    path = _path(site)
    if (text := read(path)) is None:
        return None
    try:
        return Upgrade(**json.loads(text))
    except (ValueError, TypeError) as error:
        raise GroundupError(
            f"the record of an upgrade cannot be read: {error}", where=str(path),
            why="API servers may have two versions, and layers would go by the wrong one",
            remedy="if none is under way (all nodes have one version: kubectl get nodes), remove the file",
        ) from error  # fmt: skip


def begin(site: str, *, source: str, target: str) -> Upgrade:
    """Write down that an upgrade has begun; one that has begun stays as it is. Raises GroundupError, OSError."""
    if found := under_way(site):
        return found
    upgrade = Upgrade(source=source, target=target, live=source, begun=datetime.now(UTC).isoformat(timespec="seconds"))
    _write(site, upgrade)
    return upgrade


def move(site: str, upgrade: Upgrade, *, live: str) -> None:
    """Write down that other layers go by ``live`` from now on. Raises OSError."""
    _write(site, replace(upgrade, live=live))


def end(site: str) -> None:
    """Write down that it has ended. Raises OSError."""
    _path(site).unlink(missing_ok=True)


def live_plan(site: Site) -> Plan:
    """Return the plan of ``site``, by the live version of Kubernetes while an upgrade is open.

    Raises SiteError, GroundupError.
    """
    found = under_way(site.site)
    if found is None:
        return make_plan(site)
    cluster = site.kubernetes.model_copy(update={"version": found.live})
    plan = make_plan(site.model_copy(update={"kubernetes": cluster}))
    return replace(plan, kubernetes=replace(plan.kubernetes, upgrading=found.other))


def _write(site: str, upgrade: Upgrade) -> None:
    _path(site).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_file(_path(site), (json.dumps(asdict(upgrade)) + "\n").encode(), mode=0o600)


def _path(site: str) -> Path:
    return state_dir(site) / FILE
