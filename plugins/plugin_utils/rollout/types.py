"""The words of the rollout engine: what is rendered, what is live, what would change, what went wrong.

Values only; the modules beside this one compute them. Kubernetes objects stay the plain mappings the API speaks.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from ..errors import GroundupError

Object = dict[str, Any]
ChangeKind = Literal["create", "change", "remove", "refused"]
State = Literal[
    "waiting", "healing", "applying", "starting", "verifying", "ready", "unchanged", "failed", "not started"
]
Layer = Literal["node", "image", "volume", "network", "database", "message queue", "credentials", "chart", "service"]


class RolloutError(GroundupError):
    """Something the rollout cannot go on with."""


class ChartError(RolloutError):
    """A chart that does not render, or renders something that is not a Kubernetes object."""


class GateRefusedError(RolloutError):
    """The change was refused as a whole; ``what`` is the table of reasons."""


class InterruptedRolloutError(RolloutError):
    """The run was told to stop; every child process is ended, the next run goes on."""

    def __init__(self, by: str = "a failure elsewhere in it") -> None:
        """Keep who stopped it: the name of a signal."""
        super().__init__(
            f"the rollout was stopped by {by}",
            where="this run",
            why="releases on their way are left as they are; nothing is rolled back",
            remedy="run it again: it heals what was interrupted and goes on",
        )


@dataclass(frozen=True, slots=True, order=True)
class Ref:
    """Names one object of the cluster."""

    kind: str
    namespace: str  # "" for cluster-wide kinds
    name: str

    def __str__(self) -> str:
        return f"{self.kind}/{self.name}"


def ref_of(item: Object, *, namespace: str = "") -> Ref:
    """Return the reference of ``item``; ``namespace`` serves where the object does not name one."""
    meta = item.get("metadata") or {}
    return Ref(str(item.get("kind", "")), str(meta.get("namespace") or namespace), str(meta.get("name", "")))


@dataclass(frozen=True, slots=True, kw_only=True)
class Rendered:
    """What a chart and its values come to."""

    release: str
    namespace: str
    objects: tuple[Object, ...]
    hooks: tuple[Object, ...]  # objects that Helm creates by itself at install or upgrade; tests left out
    digest: str  # of objects and hooks, hex; also a label of the live release


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveRelease:
    """The newest record Helm keeps of a release in the cluster."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldChange:
    """One field that would differ. Values of Secrets are digests, never the values."""

    path: str  # "spec.replicas"
    before: Any  # None: absent
    after: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectChange:
    """One object that would be made, changed, removed, or that the API server refuses."""

    ref: Ref
    kind: ChangeKind
    fields: tuple[FieldChange, ...] = ()
    hook: bool = False
    message: str = ""  # refused: the API server's own words


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseDiff:
    """What an upgrade would do to one release."""

    release: str
    changes: tuple[ObjectChange, ...]

    @property
    def counts(self) -> dict[str, dict[str, int]]:
        """Return how many objects of each kind are made, changed, removed or refused."""
        counts: dict[str, dict[str, int]] = {}
        for change in self.changes:
            kind = counts.setdefault(change.ref.kind, {})
            kind[change.kind] = kind.get(change.kind, 0) + 1
        return {kind: counts[kind] for kind in sorted(counts)}


@dataclass(frozen=True, slots=True, kw_only=True)
class GateReason:
    """One reason to stop the whole change. ``code`` is what ``rollout_force`` names to accept it."""

    code: str
    release: str
    what: str
    why: str
    remedy: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One question put to a service, and its answer."""

    name: str
    ok: bool
    detail: str
    layer: Layer = "service"
    object: str = ""  # the object to look at when it is not ok


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """All answers of one release, and what is worth telling the operator."""

    checks: tuple[Check, ...]
    facts: dict[str, Any] = field(default_factory=dict)  # keystone: token expiry and catalog

    @property
    def ok(self) -> bool:
        """Return whether every check passed (and there was one)."""
        return bool(self.checks) and all(check.ok for check in self.checks)


@dataclass(frozen=True, slots=True, kw_only=True)
class EventLine:
    """A Kubernetes event, as a card shows it."""

    reason: str
    object: str
    message: str
    count: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterFacts:
    """What is wrong with the ground the releases stand on."""

    not_ready_nodes: tuple[str, ...] = ()
    full_nodes: tuple[str, ...] = ()  # under disk pressure
    dns_down: str = ""  # the object that serves names, when it has no ready pod


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What was seen of one thing that does not come up."""

    release: str
    namespace: str
    object: str  # "Pod/keystone-api-0"
    stage: Literal["render", "apply", "start", "verify"]
    owner: str = ""  # "Deployment/keystone-api"
    container: str = ""
    init: bool = False
    reason: str = ""  # the API's reason: ImagePullBackOff, BackoffLimitExceeded, ...
    message: str = ""
    exit_code: int | None = None
    restarts: int = 0
    image: str = ""
    node: str = ""
    claims: tuple[str, ...] = ()  # persistent volume claims the pod uses
    events: tuple[EventLine, ...] = ()
    log: tuple[str, ...] = ()
    checks: tuple[Check, ...] = ()
    facts: ClusterFacts = field(default_factory=ClusterFacts)

    @property
    def text(self) -> str:
        """Return everything that was said about it, for rules to search."""
        events = [f"{event.reason}: {event.message}" for event in self.events]
        return "\n".join([self.reason, self.message, *events, *self.log])


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """The layer a rule holds responsible."""

    rule: str
    layer: Layer
    object: str
    what: str
    next: str  # the command to run next
    patience: float | None = None  # seconds after which waiting longer is pointless; None: wait for the deadline


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """The failure card of one release."""

    release: str
    layer: Layer
    object: str
    rule: str
    what: str
    seen_at: str  # the object that showed the symptom
    events: tuple[EventLine, ...]
    container: str
    log: tuple[str, ...]
    next: str
    affected: tuple[str, ...] = ()  # releases that were not started because of it


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseReport:
    """How one release ended."""

    name: str
    state: State
    changed: bool
    seconds: float
    checks: tuple[Check, ...] = ()
    healed: str = ""  # what had to be put right first


@dataclass(frozen=True, slots=True, kw_only=True)
class RolloutResult:
    """How the rollout ended."""

    releases: tuple[ReleaseReport, ...]
    diffs: tuple[ReleaseDiff, ...]
    reasons: tuple[GateReason, ...]
    cards: tuple[Card, ...]
    facts: dict[str, Any]

    @property
    def changed(self) -> bool:
        """Return whether any release was changed."""
        return any(report.changed for report in self.releases)

    @property
    def failed(self) -> bool:
        """Return whether any release did not end well."""
        return any(report.state in ("failed", "not started") for report in self.releases)
