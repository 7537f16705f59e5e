"""Types of helm: a render, a live release, the differences between them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from ..errors import GroundupError
from ..kube.types import Object, Ref

ChangeKind = Literal["create", "change", "remove", "refused"]


class ChartError(GroundupError):
    """A chart that does not render, or renders something that is not a Kubernetes object."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rendered:
    """The objects and hooks that a chart renders to."""

    release: str
    namespace: str
    objects: tuple[Object, ...]
    hooks: tuple[Object, ...]  # objects that Helm creates by itself at install or upgrade; tests left out
    digest: str  # of objects and hooks, hex; also a label of the live release


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveRelease:
    """Helm's newest record of a release in the cluster."""

    name: str
    namespace: str
    revision: int
    status: str  # deployed | failed | pending-install | pending-upgrade | pending-rollback | uninstalling | ...
    chart: str
    chart_version: str
    deployed_before: bool  # some revision of it was once deployed
    digest: str  # of the render it was made from; "" when another tool made it
    objects: tuple[Object, ...]
    hooks: tuple[Object, ...]
    values: Object = field(default_factory=dict, repr=False)  # with secrets: never to be printed
    app_version: str = ""  # of what the chart installs


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldChange:
    """One field that would differ. Values of Secrets are digests, never the values."""

    path: str  # "spec.replicas"
    before: Any  # None: absent
    after: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectChange:
    """One object that would be created, changed or removed, or that the API server refuses."""

    ref: Ref
    kind: ChangeKind
    fields: tuple[FieldChange, ...] = ()
    hook: bool = False
    message: str = ""  # refused: the API server's message


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseDiff:
    """Changes that an upgrade would make to one release."""

    release: str
    changes: tuple[ObjectChange, ...]
    chart: tuple[str, str] = ("", "")  # version that is live, "" of a new release, and that would be
    hooks: tuple[Ref, ...] = ()  # that Helm would run, those without a change too

    @property
    def counts(self) -> dict[str, dict[str, int]]:
        """Return how many objects of each kind are created, changed, removed or refused."""
        counts: dict[str, dict[str, int]] = {}
        for change in self.changes:
            kind = counts.setdefault(change.ref.kind, {})
            kind[change.kind] = kind.get(change.kind, 0) + 1
        return {kind: counts[kind] for kind in sorted(counts)}
