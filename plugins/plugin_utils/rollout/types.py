"""Types of the rollout: reasons, symptoms, diagnoses, cards, reports, results."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

from ...module_utils._base.faults import Fault
from ..errors import GroundupError
from ..health.verification import Check, Layer
from ..helm.types import ReleaseDiff
from ..plan.types import Plan

State = Literal[
    "waiting", "healing", "applying", "starting", "verifying", "ready", "unchanged", "failed", "not started",
    "kept", "removed",
]  # fmt: skip


class RolloutError(GroundupError):
    """An error that stops the rollout."""


class GateRefusedError(RolloutError):
    """The change was refused as a whole; ``what`` is the table of reasons."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GateReason(Fault):
    """One reason to stop the whole change. ``rollout_force`` accepts it by its ``code``."""

    code: str
    release: str


def against(release: str, code: str) -> partial[GateReason]:
    """Return a constructor of reasons ``code`` against a release; it takes ``what``, ``why`` and ``remedy``."""
    return partial(GateReason, release=release, code=code)


@dataclass(frozen=True, slots=True, kw_only=True)
class EventLine:
    """A Kubernetes event, as a card shows it."""

    reason: str
    object: str
    message: str
    count: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterFacts:
    """Problems of nodes and cluster DNS."""

    not_ready_nodes: tuple[str, ...] = ()
    full_nodes: tuple[str, ...] = ()  # under disk pressure
    dns_down: str = ""  # the DNS Deployment, when it has no available pod


@dataclass(frozen=True, slots=True, kw_only=True)
class Symptom:
    """Observations of one object that does not come up."""

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
    crashes: int = 0  # runs that failed, of a container between two of them; 0 while it runs
    final: bool = False  # nothing tries again: a Job that failed
    image: str = ""
    node: str = ""
    claims: tuple[str, ...] = ()  # persistent volume claims the pod uses
    events: tuple[EventLine, ...] = ()
    log: tuple[str, ...] = ()
    checks: tuple[Check, ...] = ()
    facts: ClusterFacts = field(default_factory=ClusterFacts)
    serving: tuple[str, ...] = ()  # Deployments of the release with pods that serve

    @property
    def text(self) -> str:
        """Return reason, message, events and log as one text for rules to search."""
        events = [f"{event.reason}: {event.message}" for event in self.events]
        return "\n".join([self.reason, self.message, *events, *self.log])


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """The layer at fault, by one rule."""

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
    """Result of one release."""

    name: str
    state: State
    changed: bool
    seconds: float
    checks: tuple[Check, ...] = ()
    healed: str = ""  # what was healed first


@dataclass(frozen=True, slots=True, kw_only=True)
class RolloutResult:
    releases: tuple[ReleaseReport, ...]
    diffs: tuple[ReleaseDiff, ...]
    reasons: tuple[GateReason, ...]
    cards: tuple[Card, ...]
    site: tuple[Check, ...] = ()  # checks of the site as a whole
    facts: dict[str, Any] = field(default_factory=dict)  # token expiry and catalog, at the end of the run

    @property
    def changed(self) -> bool:
        """Return whether any release was changed."""
        return any(report.changed for report in self.releases)

    @property
    def failed(self) -> bool:
        """Return whether any release failed or was not started, or a check of the site failed."""
        ended = any(report.state in ("failed", "not started") for report in self.releases)
        return ended or not all(check.ok for check in self.site)


@dataclass(frozen=True, slots=True, kw_only=True)
class RolloutOptions:
    """Options of a rollout, all times in seconds."""

    start_timeout: float = 1200.0  # from the upgrade of a release until its workloads are ready
    verify_timeout: float = 600.0  # until its service answers as it should
    hook_timeout: int = 1200  # one hook job; helm's own limit
    patience: float = 1.0  # factor on the rules' patience: how long a hopeless symptom may last
    lease: float = 60.0  # how long another controller waits for a silent run
    one_by_one: bool = False  # release after release, none after one that failed
    only: tuple[str, ...] = ()  # releases to roll out, with those that they need; none: all
    remove: tuple[str, ...] = ()  # releases to remove that are no longer in the site file
    site_file: str = "SITE"  # as the operator would name it on a command line
    force: tuple[str, ...] = ()  # gate reasons that are accepted: "code" or "code:release"
    limits: Mapping[str, int] = field(default_factory=dict)
    seconds: Mapping[str, float] = field(default_factory=dict)  # how long releases took before, by name
    # What the newest backup set lacks, and what to do; "" twice: nothing.
    unsaved: Callable[[Plan], tuple[str, str]] = lambda _: ("nobody has looked for a set", "groundup.cloud.openstack")
