"""Install charts that the cluster itself needs: of its pod network, of the driver of its volumes.

One after another, because one may define kinds that another uses, and without waiting for pods: there may be no node
yet to run them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...module_utils._base.wait import wait_until
from ..errors import GroundupError
from ..kube.client import Api
from ..kube.workloads import condition
from ..plan.types import ReleasePlan
from .client import Helm, why
from .heal import heal
from .preview import ChangePreview, preview
from .types import ReleaseDiff

HOOK_TIMEOUT = 300  # seconds per hook
_ESTABLISHED = 60.0  # seconds until the API server serves a new kind
_KINDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


def converge(
    releases: Sequence[ReleasePlan], *, version: str, api: Api | None, helm: Helm, say: Callable[[str], None],
    check: bool = False,
) -> list[ReleaseDiff]:  # fmt: skip
    """Install or upgrade ``releases`` in their order; return what changed, or with ``check`` what would.

    ``version``: of Kubernetes, for charts rendered before there is a cluster. ``api`` is None before there is one: then
    everything is new (``check`` only). ``say`` prints what was healed.

    Raises GroundupError for a chart that does not render, an object of another owner or that the API server refuses,
    and an error of Helm; ApiError when the cluster does not answer.
    """
    changed = []
    for release in releases:
        found = preview((release,), version=version, api=api, helm=helm, resolve=dict)
        for error in found.broken.values():
            raise error
        if found.unchanged(release.name):
            continue
        diff = found.diffs[release.name]
        _refuse(diff)
        changed.append(diff)
        if not check and api is not None:
            _bring(release, found, api=api, helm=helm, say=say)
    return changed


def _bring(release: ReleasePlan, found: ChangePreview, *, api: Api, helm: Helm, say: Callable[[str], None]) -> None:
    healed = heal(api, helm, found.live.get(release.name), found.rendered[release.name])
    if healed:
        say(f"{release.name}: {healed}")
    rendered = found.rendered[release.name]
    done = helm.upgrade(release, release.values, digest=rendered.digest, timeout=HOOK_TIMEOUT)
    if done.code:
        raise GroundupError(
            f"release {release.name}: {why(done)}",
            where=f"chart {release.chart} {release.version}, namespace {release.namespace}",
            why="the cluster needs it before any application: nodes their pod network, claims their driver",
            remedy="put right what Helm names and run the same playbook again",
        )
    for item in rendered.objects:
        if item["kind"] == "CustomResourceDefinition":
            _wait_until_served(api, item["metadata"]["name"])


def _wait_until_served(api: Api, name: str) -> None:
    path = f"{_KINDS}/{name}"
    if wait_until(lambda: condition(api.get(path), "Established") != "True", timeout=_ESTABLISHED, pause=0.2):
        raise GroundupError(
            f"the API server does not serve {name} within {_ESTABLISHED:g} s",
            where=f"CustomResourceDefinition/{name}",
            why="the next chart has objects of that kind",
            remedy=f"kubectl describe crd {name}",
        )


def _refuse(diff: ReleaseDiff) -> None:
    for change in diff.changes:
        if change.kind == "refused":
            raise GroundupError(
                f"release {diff.release}: {change.ref} cannot be applied: {change.message}",
                where=str(change.ref),
                why="Helm would stop there, with the rest half applied",
                remedy="remove it, or whatever else installed it; then run the playbook again",
            )
