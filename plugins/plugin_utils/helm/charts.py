"""Charts of the lock that the cluster itself needs, with secrets of the store and images by digest."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..errors import GroundupError
from ..kube.access import kubeconfig_path
from ..kube.client import Api
from ..plan.types import ReleasePlan
from ..process import Processes
from ..progress import Progress
from ..supply import ensure, load_lock, missing, tool
from ..vault import Redactor, Store, open_store, references
from .client import Helm
from .converge import converge
from .diff import diff_text
from .types import ReleaseDiff

if TYPE_CHECKING:
    from ..supply.lock.model import Source


@dataclass(frozen=True, slots=True, kw_only=True)
class Charts:
    """Releases of the plan, and the artifact of ``supply.lock`` that has their charts."""

    site: str
    artifact: str
    source: Source
    releases: Sequence[Mapping[str, Any]]
    images: Mapping[str, str]  # image of the plan -> the same by digest
    version: str  # of Kubernetes, for charts rendered before there is a cluster

    def missing(self) -> tuple[str, ...]:
        """Return the artifacts that `install` would have to make first."""
        return (*missing(self.artifact, source=self.source, lock=load_lock(self.site)), *missing("helm"))

    def install(self, *, check: bool, say: Progress) -> tuple[list[str], str]:
        """Install or upgrade releases, or predict it; return the changed ones, and a diff. Raises GroundupError."""
        names = references(self.releases)
        store = open_store(self.site, write=False) if names else None
        if store and check:
            store.ensure(names)  # a prediction makes up in memory what the store lacks
        clean = Redactor({name: store.get(name) for name in names} if store else {}).text
        try:
            diffs = self._converge(store, check=check, say=say)
        except GroundupError as error:
            raise GroundupError(clean(error.what), where=error.where, why=error.why, remedy=error.remedy) from None
        return [diff.release for diff in diffs], diff_text(diffs, clean)

    def _converge(self, store: Store | None, *, check: bool, say: Progress) -> list[ReleaseDiff]:
        kubeconfig, processes = kubeconfig_path(self.site), Processes()
        found = ensure(self.artifact, progress=say, source=self.source, lock=load_lock(self.site))[self.artifact]
        helm = Helm(
            binary=tool("helm", progress=say), kubeconfig=kubeconfig, charts=str(found.path), processes=processes
        )
        try:
            return converge(
                releases(self.releases, images=self.images, store=store),
                version=self.version,
                api=None if check and not kubeconfig.is_file() else Api(kubeconfig),
                helm=helm,
                say=say,
                check=check,
            )
        finally:
            processes.stop()


def releases(
    plain: Sequence[Mapping[str, Any]], *, images: Mapping[str, str] | None = None, store: Store | None = None
) -> list[ReleasePlan]:
    """Return the plan's releases, with image names replaced as in ``images``, and secrets from ``store``."""
    pinned = _pinned(plain, images or {})
    # Ansible's strings are tagged objects that YAML cannot write: convert to plain ones.
    data = json.loads(json.dumps(store.resolve(pinned) if store else pinned))
    return [ReleasePlan(**{**item, "needs": tuple(item["needs"])}) for item in data]


def _pinned(value: Any, images: Mapping[str, str]) -> Any:
    if isinstance(value, dict):
        found = {key: _pinned(item, images) for key, item in value.items()}
        # A chart joins both with a colon: the last one of a digest will do.
        if pin := images.get(f"{value.get('repository')}:{value.get('tag')}"):
            found["repository"], _, found["tag"] = pin.rpartition(":")
        return found
    if isinstance(value, list):
        return [_pinned(item, images) for item in value]
    return images.get(value, value) if isinstance(value, str) else value
