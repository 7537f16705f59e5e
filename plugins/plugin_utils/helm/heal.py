"""Repair a release that a killed run left behind, before it is upgraded.

* deployed, superseded: nothing to heal.
* failed or pending-install, never deployed: delete all records, so that the install runs again with its install
  hooks; it adopts the existing objects.
* failed, once deployed: nothing, Helm upgrades over a failed revision.
* pending-upgrade, pending-rollback: delete the record of that revision; Helm upgrades from the one before.
* uninstalling: finish the uninstall.

Before that, delete jobs and pods left by hooks of the interrupted run, unless Helm itself deletes them before it
recreates them: one that failed, or was cut short, would fail every later run. Of any release, delete those of hooks
that it has no longer, which Helm forgets: one may still run. So may a job of a revision that was never deployed: Helm
looks at none of its objects. Only those in the release's own record, and no other kind: Helm applies over a Secret or a
claim, which keeps its contents. A failed job that the release still has is deleted, too: Helm makes what is missing.

Nothing is rolled back: a Helm rollback is not an OpenStack rollback, databases are migrated already. Volume
claims are never touched.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal

from ...module_utils._base.wait import wait_until
from ..errors import GroundupError
from ..kube.client import Api
from ..kube.types import Object, ref_of, resource_path
from ..kube.workloads import failed
from .client import Helm, why
from .diff import foreign_owner
from .manifests import HOOK, RUN_ONCE, hook_events, is_kept
from .types import LiveRelease, Rendered

Remedy = Literal["none", "forget the install", "forget the revision", "finish uninstall"]
_REMADE = "before-hook-creation"  # also Helm's default
_ENDING = 60.0  # seconds for a removed job to be gone


def remedy(live: LiveRelease | None) -> Remedy:
    """Return the remedy needed before ``live`` can be upgraded."""
    if not needs_healing(live) or live is None:
        return "none"
    if live.status.startswith("uninstall"):
        return "finish uninstall"
    if not live.deployed_before:
        return "forget the install"
    return "forget the revision" if live.status.startswith("pending-") else "none"


def needs_healing(live: LiveRelease | None) -> bool:
    """Return whether an earlier run left the release unfinished."""
    return live is not None and live.status not in ("deployed", "superseded")


def heal(api: Api, helm: Helm, live: LiveRelease | None, rendered: Rendered) -> str:
    """Apply the remedy, before the release becomes ``rendered``; return what was done, "" for nothing."""
    if live is None:
        return ""
    chosen = remedy(live)
    # Leftovers first: only the record names them, and the remedy may delete it.
    left = [] if chosen == "finish uninstall" else leftovers(api, live, rendered)
    removed = [_remove(api, path) for path in left]
    said = [
        _apply(chosen, api, helm, live),
        f"removed what was left: {', '.join(removed)}" if removed else "",
    ]
    return "; ".join(filter(None, said))


def _apply(chosen: Remedy, api: Api, helm: Helm, live: LiveRelease) -> str:
    if chosen == "forget the install":
        _forget(api, live)
        return f"first install was {live.status}: made again over what is there"
    if chosen == "forget the revision":
        _forget(api, live, revision=live.revision)
        return f"revision {live.revision} was {live.status}: its record was removed"
    if chosen == "finish uninstall":
        uninstall(helm, live)
        return "an interrupted uninstall was finished"
    return ""


def uninstall(helm: Helm, live: LiveRelease) -> None:
    """Uninstall a release, or finish an interrupted uninstall. Raises GroundupError with Helm's error."""
    done = helm.uninstall(live.name, namespace=live.namespace)
    if done.code:
        raise GroundupError(
            f"release {live.name} cannot be uninstalled: {why(done)}",
            where=f"release {live.name}",
            why="it is half removed, and Helm does not install over it",
            remedy=f"helm --namespace {live.namespace} uninstall {live.name}",
        )


def leftovers(api: Api, live: LiveRelease, rendered: Rendered) -> list[str]:
    """Return the paths of jobs and pods that ``live`` left, and that Helm would neither remove nor recreate."""
    found = _lost_jobs(api, live, rendered) if needs_healing(live) else []
    found += [path for path, job in _jobs(api, rendered.objects, live) if failed(job)]
    wanted = {ref_of(hook, namespace=rendered.namespace) for hook in rendered.hooks}
    for hook in live.hooks:
        ref = ref_of(hook, namespace=live.namespace)
        if ref.kind not in RUN_ONCE or (ref in wanted and (_remade(hook) or not needs_healing(live))):
            continue
        plural = RUN_ONCE[ref.kind]
        path = resource_path(str(hook["apiVersion"]), plural, namespace=ref.namespace, name=ref.name)
        item = api.find(path)
        # One of that name that is no hook is somebody else's.
        if item is not None and hook_events(item):
            found.append(path)
    return found


def _lost_jobs(api: Api, live: LiveRelease, rendered: Rendered) -> list[str]:
    wanted = {ref_of(item, namespace=rendered.namespace) for item in rendered.objects}
    lost = (item for item in live.objects if ref_of(item, namespace=live.namespace) not in wanted and not is_kept(item))
    return [path for path, _ in _jobs(api, lost, live)]


def _jobs(api: Api, items: Iterable[Object], live: LiveRelease) -> Iterator[tuple[str, Object]]:
    """Yield the jobs among ``items`` that are there and the release's, with their paths."""
    for item in items:
        ref = ref_of(item, namespace=live.namespace)
        if ref.kind == "Job":
            path = resource_path(str(item["apiVersion"]), "jobs", namespace=ref.namespace, name=ref.name)
            there = api.find(path)
            if there is not None and not foreign_owner(there, release=live.name):
                yield path, there


def _remade(hook: Object) -> bool:
    annotations = (hook.get("metadata") or {}).get("annotations") or {}
    return _REMADE in str(annotations.get(f"{HOOK}-delete-policy") or _REMADE)


def _remove(api: Api, path: str) -> str:
    api.delete(path, body={"propagationPolicy": "Background"})
    if wait_until(lambda: api.find(path), timeout=_ENDING, pause=0.2):
        raise GroundupError(
            "what a hook of an interrupted run left is not gone a minute after it was deleted",
            where=path,
            why="Helm would take it for the new run's",
            remedy="see its finalizers and its node: kubectl get --raw " + path,
        )
    return path.rpartition("/")[2]


def _forget(api: Api, live: LiveRelease, *, revision: int | None = None) -> None:
    """Delete Helm's records of a release, or that of one revision."""
    base = resource_path("v1", "secrets", namespace=live.namespace)
    selector = f"owner=helm,name={live.name}" + (f",version={revision}" if revision else "")
    for record in api.get(base, labelSelector=selector).get("items") or ():
        api.delete(f"{base}/{record['metadata']['name']}")
