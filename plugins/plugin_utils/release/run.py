"""The verb that takes a cloud to another OpenStack release: what it would do, what is accepted, its steps here."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...module_utils._base.consent import Reason, refuse, refuse_unknown
from ...module_utils._base.text import few, printable
from ...module_utils._base.wait import wait_until
from ..errors import GroundupError
from ..kube.access import kubeconfig_path
from ..kube.client import Api
from ..plan.output.serial import site_vars
from ..plan.types import Plan
from ..progress import Progress
from ..rollout.gate import pairs
from ..status.rows import StatusRow
from ..upgrade import journal
from ..upgrade.journal import OPENSTACK, Upgrade
from . import back, data, judge, restart
from .check import ReleaseCheck, check
from .facts import LATER, ReleaseFacts, look, services
from .inputs import changed, inputs
from .judge import ADDED
from .order import Left, crowded, late, left

CODES = ("data", "gone-records", "hypervisors-down", "queues", "workloads")
_JOINED, _BACK, _PAUSE = 300.0, 120.0, 3.0  # seconds for nova-compute to report after its restart, after its queue's


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseUpgrade:
    """A step as it was asked for: to the release of ``plan``."""

    plan: Plan
    say: Progress
    password: str = field(repr=False)  # of RabbitMQ's administrator
    force: Sequence[str] = ()
    hours: float = 1.0
    absent: Collection[str] = ()  # hosts that do not answer
    resting: Sequence[str] = ()  # hosts that a run of patch left in maintenance
    said: Mapping[str, Mapping[str, str]] = field(default_factory=dict)  # host -> unit -> its state and last words

    @property
    def target(self) -> str:
        return self.plan.openstack.release

    def look(self) -> ReleaseCheck:
        """Return what speaks for and against the step."""
        return check(self.plan, target=self.target, password=self.password, hours=self.hours)

    def check(self, found: ReleaseCheck) -> dict[str, Any]:
        """Return what would be done. Raises GroundupError for what stands against it."""
        refuse_unknown("openstack_upgrade", self.force, CODES, variable="openstack_upgrade_force")
        if opened := journal.given_up(self.plan.site, self.target, OPENSTACK):
            back.require_former(self.plan, found.facts, opened)
            self._say(told := f"give up the step to {opened.target}: nothing has it")
            return {
                "changed": False, "changes": [told], "open": False, "due": False, "back": True, "hypervisors": [],
                "first": [], "staged": [], "target": site_vars(self.plan),
            }  # fmt: skip
        opened = self._opened()
        journal.refuse_open(self.plan.site, OPENSTACK.verb, journal.KUBERNETES)
        known = found.facts and self.target in pairs.STEPS
        todo = self._left(found.facts, opened) if found.facts and known else Left()
        due = bool(opened or not known or todo.former or todo.unknown)
        for host in sorted({*todo.lost, *todo.away} & self.said.keys()):
            self._say(f"{host}: {self._words(host)}")
        if due:
            against = reasons(found, absent=sorted({*self.absent} & {*todo.away}), under_way=opened is not None)
            against += changed(self.plan, found.facts, opened) if found.facts else ()
            against += [] if opened else journal.beside_patch(self.resting)
            if todo.settled or not opened:
                against += [Reason(text=one) for one in crowded(self.plan, todo.aside)]
            for one in against:
                if one.code in self.force:
                    self._say(f"accepted: {one.code}: {one.text}")
            refuse(
                "openstack_upgrade", self.plan.site, against, self.force,
                where="the cloud, and openstack.release of the site file",
                why="a cloud between two releases that cannot go on is worse than an old one; nothing was changed",
                first="put that right first",
            )  # fmt: skip
        first = f"make and publish artifacts,{'' if opened else ' back up,'} place hypervisors' environments"
        lines = [first, *todo.lines()] if due else []
        if opened:
            self._say(f"begun {opened.begun}, from {opened.source}; what is left follows")
        for number, line in enumerate(lines, 1):
            self._say(f"{number}. {line}")
        return {
            "changed": False, "changes": lines, "open": opened is not None, "due": due, "back": False,
            "hypervisors": [list(batch) for batch in todo.batches], "first": [*todo.unknown],
            "staged": self._staged(found.facts, todo) if found.facts else [], "target": site_vars(self.plan),
        }  # fmt: skip

    def back(self) -> dict[str, Any]:
        """Write down that the step was given up, unless something has its release. Raises GroundupError, OSError."""
        if opened := journal.given_up(self.plan.site, self.target, OPENSTACK):
            back.require_former(self.plan, look(self.plan, self._api(), self.password), opened)
            journal.end(self.plan.site, OPENSTACK)
        return {"changed": opened is not None}

    def ask(self) -> dict[str, Any]:
        """Require an answer of who gave none to the check, and that nothing of it stands against the step.

        Raises GroundupError.
        """
        refuse(
            "openstack_upgrade", self.plan.site, reasons(self.look(), under_way=True, known=True), (),
            where="the cloud, and openstack.release of the site file",
            why="a schema would be contracted, or data migrated, of which nobody knows who still uses them",
            first="put that right, then run this again: it goes on",
        )  # fmt: skip
        return {"changed": False}

    def begin(self) -> dict[str, Any]:
        """Write down that the step has begun. Raises GroundupError, OSError."""
        found = self._look()
        if self._opened() is None:
            data.forget(self._api(), self.plan.openstack.namespace, self.target)
        before = sorted({one for running in found.running.values() for one in running} - {self.target})
        opened = journal.begin(
            self.plan.site, source=before[0] if before else self.target, target=self.target,
            versions=[*pairs.STEPS[self.target].after, self.target], what=OPENSTACK, inputs=inputs(self.plan),
        )  # fmt: skip
        self._say(f"from {opened.source} to {opened.target}, begun {opened.begun}")
        return {"changed": True}

    def move(self) -> dict[str, Any]:
        """Write down that every service is new: other layers go by the release. Return what hypervisors change.

        They are asked now: services were on their way when the run began. Raises GroundupError, OSError.
        """
        opened = self._opened()
        todo = self._left(self._look(), opened)
        if lacking := Left(services=todo.services, unfinished=todo.unfinished).lines():
            raise self._not_whole(lacking)
        changed = not (opened and opened.live == self.target)
        if changed:
            journal.move(self.plan.site, live=self.target, what=OPENSTACK)

        def silent() -> bool:
            nonlocal todo
            todo = self._left(self._look(), opened)
            return bool(todo.lost or todo.aside)

        wait_until(silent, timeout=_BACK, pause=_PAUSE)
        if many := crowded(self.plan, todo.aside):
            raise self._stopped(
                "; ".join(many), where="nova-compute of these hosts",
                remedy="mend or retire all but that many; or run it without hypervisors-down, which tries each alone",
            )  # fmt: skip
        return {"changed": changed, "hypervisors": [list(batch) for batch in todo.batches]}

    def joined(self, hosts: Sequence[str], failed: Mapping[str, str] | None = None) -> dict[str, Any]:
        """Wait until nova-compute of ``hosts`` reports as one of the new release; return who does not, and why.

        ``failed``: hosts that could not be changed, which are not waited for. Raises GroundupError, ApiError.
        """
        if failed:
            return {"changed": False, "lacking": dict(failed)}
        wanted, api = pairs.STEPS[self.target].nova, self._api()
        lacking = wait_until(lambda: late(hosts, services(self.plan, api), wanted), timeout=_JOINED, pause=_PAUSE)
        if not lacking:
            self._say(f"{', '.join(hosts)}: nova-compute reports as of {self.target}")
        return {"changed": False, "lacking": lacking}

    def lost(self, lacking: Mapping[str, str]) -> dict[str, Any]:
        """Say at which hypervisors the step stopped, why, and what their units said last. Raises GroundupError."""
        told = (f"{host}: {printable(next(iter(why.splitlines()), 'failed'))}; {self._words(host)}"
                for host, why in lacking.items())  # fmt: skip
        raise self._stopped(
            "; ".join(told), where=", ".join(lacking),
            remedy="put these units right (journalctl -n 50 -u nova-compute -u neutron-ovn-agent there), then run "
            "groundup.cloud.openstack_upgrade again: one whose nova-compute does not report is first, and alone. "
            "Accepted as hypervisors-down, it is set aside, and the step stays open without it",
        )  # fmt: skip

    def restart(self) -> dict[str, Any]:
        """Restart what has pinned the former release's messages. Raises GroundupError, ApiError."""
        opened = self._opened() or journal.opened(self.plan.site, OPENSTACK)
        todo = self._left(self._look(), opened)
        if todo.batches or todo.away:  # they would pin it again
            self._say("no restart yet: hypervisors are left")
            return {"changed": False}
        restart.restart(self._api(), self.plan.openstack.namespace, todo.pinned, opened.begun, say=self._say)
        return {"changed": bool(todo.pinned)}

    def data(self) -> dict[str, Any]:
        """Migrate Nova's data. Raises GroundupError, ApiError."""
        found, opened = self._look(), self._opened()
        todo = self._left(found, opened)
        if not found.scheduled and "nova" in found.running:
            self._say(f"Nova's data: these charts have no job. {judge.BY_HAND}")
        if not todo.data or todo.batches or todo.away:
            return {"changed": False}
        data.migrate(self._api(), self.plan.openstack.namespace, self.target, say=self._say)
        if self._left(after := self._look(), opened).data:
            raise data.stopped(
                self.plan.openstack.namespace, data.job(self.target), f"said {after.data!r} and migrated nothing"
            )
        return {"changed": True}

    def end(self) -> dict[str, Any]:
        """Write down that the step has ended. Raises GroundupError while something is left of it."""
        opened = self._opened()
        found = self._look()
        if lacking := [*(one.text for one in changed(self.plan, found, opened)), *self._left(found, opened).lines()]:
            raise self._not_whole(lacking)
        journal.end(self.plan.site, OPENSTACK)
        return {"changed": opened is not None, "msg": self._whole}

    def verify(self) -> dict[str, Any]:
        """Require one release everywhere, and no step that is open. Raises GroundupError."""
        opened = self._opened()
        todo = self._left(self._look(), opened)
        lacking = todo.versions.lines()
        if opened:
            lacking.insert(0, f"the step from {opened.source} is open, since {opened.begun}")
        if lacking:
            raise self._not_whole(lacking, by=OPENSTACK.verb if opened or todo.former else "groundup.cloud.openstack")
        return {"changed": False, "msg": self._whole}

    @property
    def _whole(self) -> str:
        return f"OpenStack {self.target} on every service and hypervisor"

    def _not_whole(self, lacking: Sequence[str], *, by: str = OPENSTACK.verb) -> GroundupError:
        return GroundupError(
            f"OpenStack is not {self.target} everywhere: {few(lacking)}",
            where="the cloud, and openstack.release of the site file",
            why="the release after this one refuses what is of the former one",
            remedy=f"ansible-playbook {by} goes on; --tags check shows what is left",
        )

    def _stopped(self, what: str, *, where: str, remedy: str) -> GroundupError:
        return GroundupError(
            f"the step to {self.target} stopped at hypervisors: {what}", where=where,
            why="no other hypervisor is touched; instances go on, and those of the other hosts can be managed",
            remedy=remedy,
        )  # fmt: skip

    def _words(self, host: str) -> str:
        """Return what units of ``host`` said last: untrusted, and without the site's secrets by then."""
        told = (f"{unit} is {text}" for unit, text in sorted(self.said.get(host, {}).items()))
        return printable("; ".join(told) or "its units could not be asked")

    def _staged(self, facts: ReleaseFacts, todo: Left) -> list[str]:
        """Return the hosts that may change in this run; of an unknown cloud, all that answer."""
        batched = (host for batch in todo.batches for host in batch)
        return sorted(facts.hypervisors - {*self.absent} if todo.unknown else batched)

    def _opened(self) -> Upgrade | None:
        """Return the step that is open. Raises GroundupError for one to another release."""
        return journal.going_to(self.plan.site, self.target, OPENSTACK)

    def _left(self, facts: ReleaseFacts, opened: Upgrade | None) -> Left:
        begun = opened.begun if opened else ""
        return left(self.plan, facts, absent=self.absent, begun=begun, accepted=self.force)

    def _api(self) -> Api:
        return Api(kubeconfig_path(self.plan.site))

    def _look(self) -> ReleaseFacts:
        """Return what runs, all of it. Raises GroundupError, also for what cannot be asked."""
        found = look(self.plan, self._api(), self.password)
        for name, row in found.unknown.items():
            raise GroundupError(
                f"{row.name} cannot be asked: {row.what}", where=f"release {name}",
                why="what nobody knows is not taken for good: the step stays as it is", remedy=row.remedy,
            )  # fmt: skip
        return found

    def _say(self, text: str) -> None:
        self.say(f"[openstack_upgrade] {text}")


def reasons(found: ReleaseCheck, *, absent: Sequence[str] = (), under_way: bool, known: bool = False) -> list[Reason]:
    """Return what stands against the step. Of one under way only what nobody can accept: it caused the rest.

    The run makes a backup set of its own. ``absent``: hypervisors that do not answer. ``known``: who gave no answer to
    the check of a step under way must give one.
    """
    made = [
        Reason(text=_said(row), code=row.facts.get("code") or ("workloads" if part == "workloads" else None))
        for part, rows in found.parts.items()
        for row in rows
        if part != "backup" and row.state not in ("ok", "warning")
        if known or not (under_way and row.facts.get(LATER))
        if not (under_way and row.facts.get(ADDED))
    ]
    if absent:
        made.append(Reason(text=f"hypervisors do not answer: {few(absent)}", **judge.DOWN))
    return [one for one in made if one.code is None or not under_way]


def _said(row: StatusRow) -> str:
    return f"{row.name}: {row.what}" + (f" ({row.remedy})" if row.remedy else "")
