"""Look at a site before a step of OpenStack's release: every part on its own, none written to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..kube.access import kubeconfig_path
from ..kube.client import Api
from ..plan.types import Plan
from ..status.backup_sets import set_rows
from ..status.cluster import release_rows
from ..status.rows import StatusRow, guarded, run_layer
from . import judge
from .facts import ReleaseFacts, look


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseCheck:
    """What was found."""

    before: tuple[str, ...]  # releases that run
    parts: dict[str, list[StatusRow]]
    facts: ReleaseFacts | None = None  # None: they could not be asked


def check(plan: Plan, *, target: str, password: str, hours: float) -> ReleaseCheck:
    """Return what speaks for and against ``target``.

    ``password``: of RabbitMQ's administrator. ``hours``: age at which the newest backup set is too old.
    """
    if not kubeconfig_path(plan.site).is_file():
        made = StatusRow(name="cloud", state="not made", what="not made yet", remedy=run_layer("site"))
        return ReleaseCheck(before=(), parts={"release": [made]})
    api, facts = Api(kubeconfig_path(plan.site)), list[ReleaseFacts]()

    def release() -> list[StatusRow]:
        facts.append(look(plan, api, password))
        return judge.rows(facts[0], target)

    parts = {
        "release": guarded("release", release),
        "workloads": _unready(guarded("workloads", lambda: release_rows(plan, api))),
        "backup": guarded("backup", lambda: [judge.saved(set_rows(plan, days=hours / 24), hours)]),
    }
    running = facts[0].running.values() if facts else ()
    return ReleaseCheck(
        before=tuple(sorted({one for found in running for one in found})),
        parts=parts,
        facts=facts[0] if facts else None,
    )


def _unready(rows: Sequence[StatusRow]) -> list[StatusRow]:
    """Return those that are not ready, or one row for all. An older chart is what an upgrade is for."""
    found = [one for one in rows if one.state not in ("ok", "warning")]
    whole = StatusRow(name="all releases", state="ok", what=f"{len(rows)} releases are whole")
    return found or [whole]
