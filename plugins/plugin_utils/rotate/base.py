"""The shape of a rotation: survey, reasons against it, prediction, three phases, verification.

Phases: `both` (the new is valid beside the old), `use` (everything uses the new), `drop` (the old is refused). The
position is read from reality each time: run a killed rotation again, and it goes on. A rotation that is open is ended
before a new one of its kind begins.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, Literal, TypeVar

from ...module_utils._base.changes import Changes
from ...module_utils._base.consent import Reason, refuse, refuse_unknown
from ..errors import GroundupError
from ..plan.types import Plan
from ..progress import Progress
from ..vault import Store

State = TypeVar("State")
Phase = Literal["both", "use", "drop"]
_SAVE = "Sets from before have the old: take one now (groundup.cloud.backup)"
CHECK, VERIFY = "check", "verify"
PHASES: tuple[Phase, ...] = ("both", "use", "drop")


@dataclass(frozen=True, slots=True, kw_only=True)
class RotationAsked:
    """What an operator asks of a rotation."""

    plan: Plan
    site_file: str
    store: Store
    changes: Changes  # its ``check``: predict, and change nothing
    only: Collection[str] = ()  # names of services, or of what the kind has several of; none: all
    force: Collection[str] = ()  # codes of reasons that are accepted
    timeout: float = 600  # seconds until nobody uses the old
    seen: Mapping[str, Any] = field(default_factory=dict)  # what hosts said, by name
    say: Progress = print


@dataclass(slots=True, kw_only=True)
class Foreseen:
    """What a rotation would do."""

    lines: list[str] = field(default_factory=list)  # one action each; nothing when there is nothing to rotate
    rolls: tuple[str, ...] = ()  # releases that phase `use` restarts, pod by pod
    open: bool = False  # a killed rotation is gone on with
    phases: tuple[Phase, ...] = PHASES  # of this run
    layers: tuple[Phase, ...] = ()  # phases after which the layers bring it to the hosts
    hypervisors: bool = False  # the playbook hypervisor follows phase `use`


class Kind(ABC, Generic[State]):
    """One kind of credential. A subclass says what there is, what speaks against it, and what each phase does."""

    name: ClassVar[str]
    loses: ClassVar[str]  # what would be lost if a reason were ignored
    codes: ClassVar[tuple[str, ...]] = ()  # of reasons that ``force`` may accept

    def __init__(self, asked: RotationAsked) -> None:
        """Take what is asked. Raises GroundupError for a risk that the kind does not have."""
        self.asked = asked
        refuse_unknown(f"rotation of {self.name}", asked.force, self.codes, variable="rotate_force")

    @abstractmethod
    def survey(self) -> State:
        """Return what there is now."""

    def reasons(self, state: State) -> Iterable[Reason]:  # noqa: ARG002  # a kind's own look at it
        """Return the reasons against it; one with a code is accepted by ``force``."""
        return ()

    @abstractmethod
    def foresee(self, state: State) -> Foreseen:
        """Return what it would do."""

    def both(self, state: State) -> None:  # a kind may have nothing to do in a phase
        """Make the new valid beside the old. Repeated after a kill: does only what is not done."""

    @abstractmethod
    def use(self, state: State) -> None:
        """Have everything use the new. A rollout follows when `foresee` names releases."""

    def drop(self, state: State) -> None:  # a kind may have nothing to do in a phase
        """Wait until nobody uses the old, and have it refused. Raises GroundupError while somebody does."""

    @abstractmethod
    def remains(self, state: State) -> list[str]:
        """Return what is missing for an open rotation to be done, one text each."""

    @property
    def _next(self) -> str:
        return ". ".join(filter(None, (self.next_steps(), _SAVE)))

    def next_steps(self) -> str:
        """Return what an operator may do then."""
        return ""

    def run(self, step: str) -> dict[str, Any]:
        """Do ``step``: `CHECK`, `VERIFY` or one of `PHASES`. Raises GroundupError."""
        state = self.survey()
        if step == VERIFY:
            return self._verified(self.remains(state))
        refuse(
            "rotate", self.name, self.reasons(state), self.asked.force,
            where=f"rotation of {self.name}", why=self.loses, first="put that right first",
        )  # fmt: skip
        ahead = self.foresee(state)
        if step in PHASES and not self.asked.changes.check:
            {"both": self.both, "use": self.use, "drop": self.drop}[step](state)
        told = {"open": ahead.open, "rolls": list(ahead.rolls), "hypervisors": ahead.hypervisors,
                "phases": list(ahead.phases), "layers": list(ahead.layers),
                "next": self._next, "foreseen": ahead.lines}  # fmt: skip
        return {**self.asked.changes.result(), **told}

    def _verified(self, left: list[str]) -> dict[str, Any]:
        if left:
            raise GroundupError(
                f"rotation of {self.name} is not done (rotation-open): {'; '.join(left)}",
                where=f"rotation of {self.name}", why=self.loses,
                remedy=f"ansible-playbook groundup.cloud.rotate -e rotate_what={self.name}: it goes on",
            )  # fmt: skip
        return {"changed": False, "open": False, "rolls": [], "next": self._next, "foreseen": []}
