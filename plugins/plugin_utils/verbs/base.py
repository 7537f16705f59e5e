"""The shape of a verb: survey, reasons against it, consent, prediction, steps, verification.

A verb's position is read from reality each time, never from a file: run a killed one again, and it goes on.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, TypeVar

from ...module_utils._base.consent import Reason, refuse, refuse_unknown
from ..errors import GroundupError
from ..plan.types import Plan
from ..progress import Progress

State = TypeVar("State")
Ceph = Callable[..., dict[str, Any]]  # (step, check=..., **options): a step of module ceph on a storage host
CHECK, VERIFY = "check", "verify"


def unasked(step: str, **_: Any) -> dict[str, Any]:
    """Take the place of Ceph where a verb was given none. Raises GroundupError."""
    raise GroundupError(
        f"nobody asks Ceph to {step}", where="module verb", why="what it has of the machine is not known",
        remedy="run the verb's playbook",
    )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What an operator asks of a verb."""

    plan: Plan
    machine: str
    force: Collection[str] = ()  # codes of reasons that are accepted
    parallel: int = 0  # things done at once; 0: the verb's own
    timeout: float = 0  # seconds for one of them; 0: the verb's own
    method: str = ""  # how disks are erased
    seen: Mapping[str, Any] = field(default_factory=dict)  # what its playbook learnt between the steps
    ceph: Ceph = unasked
    formerly: str = ""  # name of the playbook that it was begun by, if that is an old one
    check: bool = False  # predict, and change nothing
    say: Progress = print


class Verb(ABC, Generic[State]):
    """One verb on one machine. A subclass says what there is, what speaks against it, and what each step does."""

    name: ClassVar[str]
    one: ClassVar[str]  # why it acts on one machine that is named
    loses: ClassVar[str]  # what would be lost if a reason were ignored
    codes: ClassVar[tuple[str, ...]] = ()  # of reasons that ``force`` may accept
    stays_off: ClassVar[bool] = False  # whether the machine does not serve at its end: its alerts stay muted a while

    def __init__(self, asked: Asked) -> None:
        """Take what is asked. Raises GroundupError without a machine."""
        self.asked = asked
        if not asked.machine:
            raise GroundupError(
                "no machine is named", where="the variable machine", why=self.one,
                remedy=f"ansible-playbook groundup.cloud.{self.name} -e machine=NAME",
            )  # fmt: skip
        if asked.parallel < 0 or asked.timeout < 0:
            where = f"the variables {self.name}_parallel and {self.name}_timeout"
            raise GroundupError("less than nothing", where=where, why="nothing would begin", remedy="give 0 or more")
        refuse_unknown(self.name, asked.force, self.codes, variable=f"{self.name}_force")

    @abstractmethod
    def survey(self) -> State:
        """Return what there is now. Raises GroundupError for a machine that the verb is not for."""

    def reasons(self, state: State) -> Iterable[Reason]:  # noqa: ARG002  # a verb's own look at it
        """Return the reasons against it; one with a code is accepted by ``force``."""
        return ()

    @abstractmethod
    def predict(self, state: State) -> list[str]:
        """Return what it would do, one line each; nothing when it is done."""

    @abstractmethod
    def steps(self) -> Mapping[str, Callable[[State], dict[str, Any]]]:
        """Return its steps in order, by name. Each returns ``changes`` and facts, and raises GroundupError."""

    @abstractmethod
    def remains(self, state: State) -> list[str]:
        """Return what is missing for it to be done, one text each."""

    def facts(self, state: State) -> dict[str, Any]:  # noqa: ARG002  # a verb's own look at it
        """Return what a playbook must know before the steps."""
        return {}

    def next_steps(self) -> str:
        """Return what an operator may do then."""
        return ""

    def around(self) -> AbstractContextManager[None]:
        """Return the context of every step, which makes errors of a service ours."""
        return nullcontext()

    @property
    def roles(self) -> tuple[str, ...]:
        """Roles in the site file; () when the machine has left it."""
        host = self.asked.plan.hosts.get(self.asked.machine)
        return tuple(host.roles) if host else ()

    def run(self, step: str) -> dict[str, Any]:
        """Do ``step``: `CHECK`, `VERIFY` or one of `steps`. Raises GroundupError."""
        if step not in (CHECK, VERIFY, *self.steps()):
            raise GroundupError(
                f"{self.name} has no step {step}", where="the option step", why="nothing would be done",
                remedy=f"one of {', '.join((CHECK, *self.steps(), VERIFY))}",
            )  # fmt: skip
        with self.around():
            state = self.survey()
            if step == VERIFY:
                return self._verified(self.remains(state))
            self.refuse(state)
            if step == CHECK or self.asked.check:
                done: dict[str, Any] = {"changes": self.predict(state), **self.facts(state)}
            else:
                done = self.steps()[step](state)
        return self._result(done)

    def refuse(self, state: State) -> State:
        """Return ``state``. Raises GroundupError for a reason against it that ``force`` does not accept."""
        refuse(
            self.name, self.asked.machine, self.reasons(state), self.asked.force,
            where=f"machine {self.asked.machine}", why=self.loses, first="put that right first",
        )  # fmt: skip
        return state

    def _verified(self, left: list[str]) -> dict[str, Any]:
        if left:
            raise GroundupError(
                f"{self.name} of {self.asked.machine} is not done: {'; '.join(left)}",
                where=f"machine {self.asked.machine}",
                why=self.loses,
                remedy=f"ansible-playbook groundup.cloud.{self.name} -e machine={self.asked.machine}",
            )
        return self._result({"changes": []})

    def _result(self, done: dict[str, Any]) -> dict[str, Any]:
        named = {
            "machine": self.asked.machine, "steps": list(self.steps()), "next": self.next_steps(),
            "stays_off": self.stays_off,
        }  # fmt: skip
        return {"changed": bool(done["changes"]), **named, **done}
