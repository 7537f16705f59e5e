"""Puts a release right that a killed run left behind, before it is upgraded.

What Helm does when it is *told* to stop is written down by us when it could not do it itself:

* deployed, superseded: nothing to heal.
* failed or pending-install, never deployed: the records are forgotten, so that the install runs once more with its
  install hooks; it adopts the objects that are there.
* failed, once deployed: nothing, Helm upgrades over a failed revision.
* pending-upgrade, pending-rollback: that revision is marked failed.
* uninstalling: the uninstall is finished.

Before that, jobs the interrupted run had as hooks are removed, where the chart does not let Helm do so itself before it
makes them again: one that failed, or was cut short, would fail every run after it. Only what the release's own record
names, and only jobs and pods: a Secret or a claim is applied over by Helm and keeps what was put into it.

Nothing is rolled back: a Helm rollback is not an OpenStack rollback (U6), databases have moved on. Volume claims are
never touched.
"""

from __future__ import annotations

import time
from typing import Literal

from ...helm.client import Helm, why
from ...helm.manifests import HOOK, hook_events
from ...helm.records import payload, with_payload
from ...kube.client import Api, resource_path
from ..types import LiveRelease, Object, RolloutError, ref_of

Remedy = Literal["none", "forget", "mark failed", "finish uninstall"]
_GONE_WRONG = "failed"
_RUN_ONCE = {"Job": "jobs", "Pod": "pods"}
_REMADE = "before-hook-creation"  # also what Helm does when a chart says nothing
_ENDING = 60.0  # seconds for a removed job to be gone


def remedy(live: LiveRelease | None) -> Remedy:
    """Return what has to be done before ``live`` can be upgraded."""
    if live is None or live.status in ("deployed", "superseded"):
        return "none"
    if live.status.startswith("uninstall"):
        return "finish uninstall"
    if not live.deployed_before:
        return "forget"
    return "mark failed" if live.status.startswith("pending-") else "none"


def needs_healing(live: LiveRelease | None) -> bool:
    """Say whether an earlier run left the release half made."""
    return live is not None and live.status not in ("deployed", "superseded")


def heal(api: Api, helm: Helm, live: LiveRelease | None) -> str:
    """Carry out the remedy and return it in words, ``""`` when there was nothing to heal."""
    if live is None or not needs_healing(live):
        return ""
    chosen = remedy(live)
    # First what is known by the record alone: the remedy may be to forget that.
    removed = [] if chosen == "finish uninstall" else [_remove(api, path) for path in leftovers(api, live)]
    said = [_apply(chosen, api, helm, live), f"removed what its hooks left: {', '.join(removed)}" if removed else ""]
    return "; ".join(filter(None, said))


def _apply(chosen: Remedy, api: Api, helm: Helm, live: LiveRelease) -> str:
    if chosen == "forget":
        _forget(api, live)
        return f"first install was {live.status}: made again over what is there"
    if chosen == "mark failed":
        _mark_failed(api, live)
        return f"revision {live.revision} was {live.status}: marked failed"
    if chosen == "finish uninstall":
        done = helm.uninstall(live.name, namespace=live.namespace)
        if done.code:
            raise RolloutError(
                f"an interrupted uninstall cannot be finished: {why(done)}",
                where=f"release {live.name}",
                why="Helm does not install over it",
                remedy=f"helm --namespace {live.namespace} uninstall {live.name}",
            )
        return "an interrupted uninstall was finished"
    return ""


def leftovers(api: Api, live: LiveRelease) -> list[str]:
    """Return the paths of jobs and pods that hooks of ``live`` left and that Helm would not make anew."""
    found = []
    for hook in live.hooks:
        if hook.get("kind") not in _RUN_ONCE or _remade(hook):
            continue
        ref = ref_of(hook, namespace=live.namespace)
        plural = _RUN_ONCE[ref.kind]
        path = resource_path(str(hook["apiVersion"]), plural, namespace=ref.namespace, name=ref.name)
        item = api.find(path)
        # Of the same name, and no hook: somebody else made it.
        if item is not None and hook_events(item):
            found.append(path)
    return found


def _remade(hook: Object) -> bool:
    annotations = (hook.get("metadata") or {}).get("annotations") or {}
    return _REMADE in str(annotations.get(f"{HOOK}-delete-policy") or _REMADE)


def _remove(api: Api, path: str) -> str:
    api.request("DELETE", path, body={"propagationPolicy": "Background"})
    end = time.monotonic() + _ENDING
    while api.find(path) is not None:
        if time.monotonic() > end:
            raise RolloutError(
                "what a hook of an interrupted run left is not gone a minute after it was deleted",
                where=path,
                why="Helm would take it for the new run's",
                remedy="see its finalizers and its node: kubectl get --raw " + path,
            )
        time.sleep(0.2)
    return path.rpartition("/")[2]


def _forget(api: Api, live: LiveRelease) -> None:
    base = resource_path("v1", "secrets", namespace=live.namespace)
    records = api.get(base, labelSelector=f"owner=helm,name={live.name}").get("items") or ()
    for record in records:
        api.request("DELETE", f"{base}/{record['metadata']['name']}")


def _mark_failed(api: Api, live: LiveRelease) -> None:
    path = resource_path(
        "v1", "secrets", namespace=live.namespace, name=f"sh.helm.release.v1.{live.name}.v{live.revision}"
    )
    record = api.get(path)
    content = payload(record)
    info = dict(content.get("info") or {})
    content["info"] = {**info, "status": _GONE_WRONG, "description": "The run that made it was killed"}
    patch = {"metadata": {"labels": {"status": _GONE_WRONG}}, "data": with_payload(content)}
    api.request("PATCH", path, body=patch, content_type="application/merge-patch+json")
