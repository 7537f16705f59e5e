"""Puts a release right that a killed run left behind, before it is upgraded.

What Helm does when it is *told* to stop is written down by us when it could not do it itself:

* deployed, superseded: nothing to heal.
* failed or pending-install, never deployed: the records are forgotten, so that the install runs once more with its
  install hooks; it adopts the objects that are there.
* failed, once deployed: nothing, Helm upgrades over a failed revision.
* pending-upgrade, pending-rollback: that revision is marked failed.
* uninstalling: the uninstall is finished.

Nothing is rolled back: a Helm rollback is not an OpenStack rollback (U6), databases have moved on. Volume claims are
never touched.
"""

from __future__ import annotations

from typing import Literal

from .helm import Helm, why
from .kube import Api, resource_path
from .live import payload, with_payload
from .types import LiveRelease, RolloutError

Remedy = Literal["none", "forget", "mark failed", "finish uninstall"]
_GONE_WRONG = "failed"


def remedy(live: LiveRelease | None) -> Remedy:
    """Return what has to be done before ``live`` can be upgraded."""
    if live is None or live.status in ("deployed", "superseded"):
        return "none"
    if live.status.startswith("uninstall"):
        return "finish uninstall"
    if not live.deployed_before:
        return "forget"
    return "mark failed" if live.status.startswith("pending-") else "none"


def heal(api: Api, helm: Helm, live: LiveRelease | None) -> str:
    """Carry out the remedy and return it in words, ``""`` when there was nothing to heal."""
    chosen = remedy(live)
    if live is None or chosen == "none":
        return ""
    if chosen == "forget":
        _forget(api, live)
        return f"first install was {live.status}: made again over what is there"
    if chosen == "mark failed":
        _mark_failed(api, live)
        return f"revision {live.revision} was {live.status}: marked failed"
    done = helm.uninstall(live.name, namespace=live.namespace)
    if done.code:
        raise RolloutError(
            f"an interrupted uninstall cannot be finished: {why(done)}",
            where=f"release {live.name}",
            why="Helm does not install over it",
            remedy=f"helm --namespace {live.namespace} uninstall {live.name}",
        )
    return "an interrupted uninstall was finished"


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
