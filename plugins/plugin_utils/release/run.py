"""The verb that takes a cloud to another OpenStack release: what it would do, what is accepted, its steps here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ...module_utils._base.consent import Reason, refuse
from ...module_utils._base.text import few
from ...module_utils._base.wait import wait_until
from ..errors import GroundupError
from ..kube.access import kubeconfig_path
from ..kube.client import Api
from ..plan.types import Plan
from ..progress import Progress
from ..rollout.gate import pairs
from ..status.rows import BAD, StatusRow
from ..upgrade import journal
from ..upgrade.journal import OPENSTACK, Upgrade
from . import data, judge, restart
from .check import ReleaseCheck, check
from .facts import ReleaseFacts, look, services
from .order import Left, left

CODES = ("backup", "data", "gone-records", "hypervisors-down", "queues", "workloads")
_BY_PART = {"backup": "backup", "workloads": "workloads"}
_JOINED, _PAUSE = 300.0, 3.0  # seconds for nova-compute to report after its restart


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseUpgrade:
    """A step as it was asked for: to the release of ``plan``."""

    plan: Plan
    say: Progress
    password: str = field(repr=False)  # of RabbitMQ's administrator
    force: Sequence[str] = ()
    hours: float = 1.0

    @property
    def target(self) -> str:
        """Return the release to go to."""
        return self.plan.openstack.release

    def look(self) -> ReleaseCheck:
        """Return what speaks for and against the step."""
        return check(self.plan, target=self.target, password=self.password, hours=self.hours)

    def check(self, found: ReleaseCheck) -> dict[str, Any]:
        """Return what would be done. Raises GroundupError for what stands against it."""
        if unknown := sorted({*self.force} - {*CODES}):
            raise GroundupError(
                f"openstack_upgrade has no risk {', '.join(unknown)} to accept",
                where="the variable openstack_upgrade_force", why="what is accepted must be what is lost",
                remedy=f"one of {', '.join(CODES)}",
            )  # fmt: skip
        opened = self._opened()
        journal.refuse_open(self.plan.site, OPENSTACK.verb, journal.KUBERNETES)
        against = reasons(found, under_way=opened is not None)
        known = self.target in pairs.STEPS
        todo = left(self.plan, found.facts) if found.facts and known else Left()
        due = bool(opened or todo.services or todo.batches or todo.away)
        if due or not found.facts or not known:
            for one in against:
                if one.code in self.force:
                    self.say(f"[openstack_upgrade] accepted: {one.code}: {one.text}")
            refuse(
                "openstack_upgrade", self.plan.site, against, self.force,
                where="the cloud, and openstack.release of the site file",
                why="a cloud between two releases that cannot go on is worse than an old one; nothing was changed",
                first="put that right first",
            )  # fmt: skip
        lines = todo.lines() if due else []
        if opened:
            self.say(f"[openstack_upgrade] begun {opened.begun}, from {opened.source}; what is left follows")
        for number, line in enumerate(lines, 1):
            self.say(f"[openstack_upgrade] {number}. {line}")
        return {
            "changed": False, "changes": lines, "open": opened is not None, "due": due, "before": list(found.before),
            "hypervisors": [list(batch) for batch in todo.batches], "away": list(todo.away),
        }  # fmt: skip

    def begin(self) -> dict[str, Any]:
        """Write down that the step has begun. Raises GroundupError, OSError."""
        found = self._look()
        before = sorted({one for running in found.running.values() for one in running} - {self.target})
        opened = journal.begin(
            self.plan.site, source=before[0] if before else self.target, target=self.target,
            versions=[*before, self.target], what=OPENSTACK,
        )  # fmt: skip
        self.say(f"[openstack_upgrade] from {opened.source} to {opened.target}, begun {opened.begun}")
        return {"changed": True}

    def joined(self, hosts: Sequence[str]) -> dict[str, Any]:
        """Wait until nova-compute of ``hosts`` reports as one of the new release. Raises GroundupError."""
        wanted, api = pairs.STEPS[self.target].nova, self._api()

        def missing() -> list[str]:
            seen = {one.host: one for one in services(self.plan, api) if one.binary == judge.COMPUTE}
            late = (host for host in hosts if host not in seen or not judge.is_up(seen[host]))
            old = (host for host in hosts if host in seen and seen[host].version < wanted)
            return [*(f"{host} does not report" for host in late), *(f"{host} reports as former" for host in old)]

        if lacking := wait_until(missing, timeout=_JOINED, pause=_PAUSE):
            raise GroundupError(
                f"the step to {self.target} stopped at hypervisors: {'; '.join(lacking)}",
                where=", ".join(hosts),
                why="no other hypervisor is touched; instances go on, and those of the other hosts can be managed",
                remedy="journalctl -n 50 -u nova-compute there; then run groundup.cloud.openstack_upgrade again",
            )
        self.say(f"[openstack_upgrade] {', '.join(hosts)}: nova-compute reports as of {self.target}")
        return {"changed": False}

    def restart(self) -> dict[str, Any]:
        """Restart what has pinned the former release's messages. Raises GroundupError, ApiError."""
        names = left(self.plan, self._look()).pinned
        restart.restart(self._api(), self.plan.openstack.namespace, names, self.target, say=self.say)
        return {"changed": bool(names)}

    def data(self) -> dict[str, Any]:
        """Migrate Nova's data. Raises GroundupError, ApiError."""
        found = self._look()
        if not found.scheduled and "nova" in found.running:
            self.say(f"[openstack_upgrade] Nova's data: these charts have no job. {judge.BY_HAND}")
        if not left(self.plan, found).data:
            return {"changed": False}
        data.migrate(self._api(), self.plan.openstack.namespace, self.target, say=self.say)
        return {"changed": True}

    def end(self) -> dict[str, Any]:
        """Write down that the step has ended. Raises GroundupError while something is left of it."""
        if lacking := [*left(self.plan, self._look()).lacking()]:
            raise self._not_whole(lacking)
        opened = journal.under_way(self.plan.site, OPENSTACK) is not None
        journal.end(self.plan.site, OPENSTACK)
        return {"changed": opened, "msg": self._whole}

    def verify(self) -> dict[str, Any]:
        """Require one release everywhere, and no step that is open. Raises GroundupError."""
        todo = left(self.plan, self._look())
        lacking = [*Left(services=todo.services, batches=todo.batches, away=todo.away).lacking()]
        if opened := journal.under_way(self.plan.site, OPENSTACK):
            lacking.insert(0, f"the step from {opened.source} is open, since {opened.begun}")
        if lacking:
            raise self._not_whole(lacking)
        return {"changed": False, "msg": self._whole}

    @property
    def _whole(self) -> str:
        return f"OpenStack {self.target} on every service and hypervisor"

    def _not_whole(self, lacking: Sequence[str]) -> GroundupError:
        return GroundupError(
            f"OpenStack is not {self.target} everywhere: {few(lacking)}",
            where="the cloud, and openstack.release of the site file",
            why="the release after this one refuses what is of the former one",
            remedy="ansible-playbook groundup.cloud.openstack_upgrade goes on; --tags check shows what is left",
        )

    def _opened(self) -> Upgrade | None:
        """Return the step that is open. Raises GroundupError for one to another release."""
        found = journal.under_way(self.plan.site, OPENSTACK)
        if found and found.target != self.target:
            raise GroundupError(
                f"the step that is open goes from {found.source} to {found.target}; the site file says {self.target}",
                where="openstack.release of the site file",
                why="databases are migrated forward only, and three releases were never tested together",
                remedy=f"set openstack.release to {found.target}, and run this again",
            )
        return found

    def _api(self) -> Api:
        return Api(kubeconfig_path(self.plan.site))

    def _look(self) -> ReleaseFacts:
        return look(self.plan, self._api(), self.password)


def reasons(found: ReleaseCheck, *, under_way: bool) -> list[Reason]:
    """Return what stands against the step. Of one under way only what nobody can accept: it caused the rest."""
    made = [
        Reason(text=_said(row), code=row.facts.get("code") or _BY_PART.get(part))
        for part, rows in found.parts.items()
        for row in rows
        if row.state in BAD or row.state == "unknown"
    ]
    return [one for one in made if one.code is None or not under_way]


def _said(row: StatusRow) -> str:
    return f"{row.name}: {row.what}" + (f" ({row.remedy})" if row.remedy else "")
