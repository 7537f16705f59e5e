"""Rotation of accounts that chart values name: a second password, or a second account, beside the first.

Position, by account: NAME.next in the store (the new is to become valid), NAME.former (the new is the site's, the old
is still valid), neither (no rotation is open).
"""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from ...module_utils._base.consent import Reason
from ...module_utils._base.wait import wait_until
from ..errors import GroundupError
from ..hypervisor.configuration import NEUTRON_SECRET, NOVA_ACCOUNTS, NOVA_SECRET
from ..kube.access import kubeconfig_path
from ..kube.client import Api
from ..paths import state_dir
from ..plan.types import Plan
from ..rollout.session import TIMES, claim
from ..vault import references, rotation
from ..vault.names import USER, password
from ..vault.rotation import FORMER, NEXT
from .base import Foreseen, Kind
from .usage import Usage

_PAUSE, _APPLIES = 2.0, 30.0  # seconds; the second: for all members to do what one was told
# By the end of a secret's name: the job that makes the account. A service that switches it off has none.
_MAKES = {"db": "job_db_init", "rabbitmq": "job_rabbit_init"}
_ON_HOSTS = {NOVA_SECRET, NOVA_ACCOUNTS, NEUTRON_SECRET}


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """An account of a service."""

    user: str  # in the values: its first name
    secret: str  # name of its password
    rolls: tuple[str, ...]  # releases whose pods have the password
    values: Mapping[str, Any]  # what the values say beside user and password

    @property
    def service(self) -> str:
        """Return the service it is of."""
        return self.secret.partition("/")[0]


@dataclass(frozen=True, slots=True)
class Credential:
    """User name and password."""

    user: str
    password: str = field(repr=False)
    secret: str = ""  # name of the password in the store


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """An account in rotation."""

    account: Account
    old: Credential
    new: Credential


@dataclass(frozen=True, slots=True, kw_only=True)
class Accounts:
    """Accounts to rotate: those of an open rotation, else all that are asked for."""

    todo: list[Account]
    open: bool


class AccountRotation(Kind[Accounts]):
    """A kind of accounts at one server."""

    server: ClassVar[str]
    renames: ClassVar[bool]  # a second account, because one cannot have two passwords
    hosts: ClassVar[bool]  # hypervisors have some of them, too

    @abstractmethod
    def of_kind(self, name: str) -> bool:
        """Return whether the secret ``name`` is the password of such an account."""

    @abstractmethod
    def accepts(self, login: Credential) -> bool:
        """Return whether all members of the server let it in. Raises GroundupError when one cannot say."""

    def refuses(self, login: Credential) -> bool:
        """Return whether no member lets it in. Raises GroundupError when one cannot say."""
        return not self.accepts(login)

    @abstractmethod
    def admit(self, change: Change) -> None:
        """Make the new valid beside the old."""

    def overlaps(self, secret: str) -> bool:  # noqa: ARG002  # a server's own word
        """Return whether old and new can be valid at once. Where not, the new becomes valid in phase `use`."""
        return True

    def at(self, secret: str) -> str:  # noqa: ARG002  # a kind of one server
        """Return the name of the server that knows the account."""
        return self.server

    def busy(self, change: Change) -> list[str]:  # noqa: ARG002  # a server's own word
        """Return who is connected with the old."""
        return []

    @abstractmethod
    def expel(self, change: Change) -> None:
        """Make the old invalid."""

    @property
    def api(self) -> Api:
        """Return the site's API."""
        return Api(kubeconfig_path(self.asked.plan.site))

    @property
    def namespace(self) -> str:
        """Return where the cloud is."""
        return self.asked.plan.openstack.namespace

    @property
    def accounts(self) -> list[Account]:
        """Return all accounts of the kind."""
        return of_plan(self.asked.plan, self.of_kind)

    def survey(self) -> Accounts:
        """Return the accounts. Raises GroundupError for a service that has none."""
        found, only = self.accounts, self.asked.only
        known = {one.service for one in found}
        if unknown := sorted(set(only) - known):
            raise GroundupError(
                f"{', '.join(unknown)}: no account to rotate", where="the variable rotate_only",
                why="what is named must be what is rotated", remedy=f"one of {', '.join(sorted(known)) or 'none'}",
            )  # fmt: skip
        begun = [one for one in found if rotation.is_open(self.asked.store, one.secret)]
        if others := sorted({one.service for one in begun if only and one.service not in only}):
            raise GroundupError(
                f"the rotation of {', '.join(others)} is open (rotation-open)", where="the variable rotate_only",
                why="old and new are valid until it has ended",
                remedy=f"first run this with -e '{json.dumps({'rotate_only': others})}': it goes on",
            )  # fmt: skip
        return Accounts(todo=begun or [one for one in found if not only or one.service in only], open=bool(begun))

    def reasons(self, state: Accounts) -> Iterable[Reason]:
        """Return why not."""
        if self.asked.plan.openstack.charts != "builtin":
            yield Reason(text="openstack.charts is not builtin: the jobs of other charts set passwords their own way")
        if not state.todo:
            yield Reason(text=f"no service of the site file has an account of {self.server}")

    def foresee(self, state: Accounts) -> Foreseen:
        """Return the accounts, and whose pods restart."""
        usage, lines, hosts = Usage.now(self.api, self.namespace), list[str](), False
        stored = self.asked.store.items()
        self._known(state)
        for one in state.todo:
            # A run that was killed after the swap left the former value with the cluster and the hypervisors.
            values = [stored[name] for name in (one.secret, one.secret + FORMER) if name in stored]
            new = "a new account takes its place" if self.renames else "a new one"
            lines.append(f"{one.user}, password in {self.at(one.secret)}: {'goes on' if state.open else new}")
            lines.append(f"{one.user}, pods that restart one by one: {', '.join(usage.owners(*values)) or 'none'}")
            hosts |= self.hosts and bool(_ON_HOSTS & usage.holding(*values).keys())
        rolls = tuple(sorted({name for one in state.todo for name in one.rolls}))
        slowest, hosts = _seconds(self.asked.plan, rolls), hosts and bool(self.asked.plan.hypervisor.compute)
        lines += [f"releases that are rolled out{slowest}: {', '.join(rolls)}"] if rolls else []
        lines += ["hypervisors: their services restart with the new one"] if hosts else []
        return Foreseen(lines=lines, rolls=rolls, open=state.open, hypervisors=hosts)

    def both(self, state: Accounts) -> None:
        """Make the new valid beside the old."""
        store = self.asked.store
        if not state.open:
            self._known(state)
            users = {one.secret: f"{one.user}-{password(8).lower()}" for one in state.todo} if self.renames else {}
            for name in rotation.stage(store, [one.secret for one in state.todo], users=users):
                self.asked.changes.add(f"next value of {name} in the secrets store")
        self._admit([one for one in self._changes(state) if self.overlaps(one.account.secret)])

    def use(self, state: Accounts) -> None:
        """Make the new the site's: store, fingerprints. The rollout follows."""
        for name in rotation.swap(self.asked.store, [one.secret for one in state.todo]):
            self.asked.changes.add(f"{name} in the secrets store is the new value")
        claim(self.api, self.asked.plan, self.asked.store, write=True)
        self._admit([one for one in self._changes(state) if not self.overlaps(one.account.secret)])

    def drop(self, state: Accounts) -> None:
        """Have the server refuse the old, once nobody uses it."""
        for change in self._changes(state):
            old, new = change.old, change.new
            self._unused(change)
            # An account of its own that is refused may be disabled, or locked for a while.
            if self.overlaps(old.secret) or not self.refuses(old):
                self.expel(change)
            self._until(self.refuses, old, "still accepts the old password of")
            self._until(self.accepts, new, "does not accept the new password of")
            rotation.end(self.asked.store, change.account.secret)
            self.asked.changes.add(f"{self.at(old.secret)} refuses the old password of {change.account.user}")

    def remains(self, state: Accounts) -> list[str]:
        """Return the accounts whose rotation is open, and passwords that are refused."""
        what = "has two passwords of" if state.open else "refuses"
        left = [one for one in state.todo if state.open or not self.accepts(self._present(one))]
        return [f"{self.at(one.secret)} {what} {one.user}" for one in left]

    def _known(self, state: Accounts) -> None:
        """Check before a rotation begins that what the store has is what is let in. Raises GroundupError."""
        unknown = [] if state.open else [one.user for one in state.todo if not self.accepts(self._present(one))]
        if unknown:
            raise self._failed(self.server, f"does not accept the store's password of {', '.join(unknown)}")

    def _present(self, one: Account) -> Credential:
        values = self.asked.store.items()
        return Credential(values.get(one.secret + USER, one.user), self.asked.store.get(one.secret), one.secret)

    def _admit(self, changes: list[Change]) -> None:
        for change in changes:
            if not self.accepts(change.new):
                self.admit(change)
                server = self.at(change.new.secret)
                self.asked.changes.add(f"{server} accepts the new password of {change.account.user}")
                self._until(self.accepts, change.new, "does not accept the new password of")

    def _changes(self, state: Accounts) -> Iterator[Change]:
        """Yield what is in rotation, with the old and the new."""
        for one in state.todo:
            values, present, name = self.asked.store.items(), self._present(one), one.secret
            if name + NEXT in values:
                new = Credential(values.get(name + USER + NEXT, present.user), values[name + NEXT], name)
                yield Change(account=one, old=present, new=new)
            elif name + FORMER in values:
                first = one.user if self.renames else present.user
                old = Credential(values.get(name + USER + FORMER, first), values[name + FORMER], name)
                yield Change(account=one, old=old, new=present)

    def _unused(self, change: Change) -> None:
        """Wait until nobody has the old password. Raises GroundupError naming who has."""

        def left() -> list[str]:
            usage = Usage.now(self.api, self.namespace)
            return usage.left(old=change.old.password, new=change.new.password) + self.busy(change)

        if still := wait_until(left, timeout=self.asked.timeout, pause=_PAUSE):
            raise GroundupError(
                f"the old password of {change.account.user} is still in use (old-still-used): {'; '.join(still)}",
                where=f"{self.at(change.old.secret)}, namespace {self.namespace}",
                why="whoever has it would be refused",
                remedy="run this again when the rollout is through; a pod that does not end: kubectl delete pod",
            )  # fmt: skip

    def _until(self, done: Callable[[Credential], bool], login: Credential, what: str) -> None:
        if wait_until(lambda: not done(login), timeout=_APPLIES):
            raise self._failed(self.at(login.secret), f"{what} {login.user}")

    def _failed(self, server: str, what: str) -> GroundupError:
        return GroundupError(
            f"{server} {what}", where=str(self.asked.store.path),
            why="nobody can say then which password the services have",
            remedy="run the playbook groundup.cloud.openstack, which sets the store's; then run this again",
        )  # fmt: skip


def of_plan(plan: Plan, of_kind: Callable[[str], bool]) -> list[Account]:
    """Return the accounts whose secret is ``of_kind``, and which a job of their service makes."""
    found: dict[str, tuple[str, Mapping[str, Any]]] = {}
    rolls: dict[str, list[str]] = {}
    jobs = {release.name: release.values.get("manifests", {}) for release in plan.openstack.releases}
    for release in plan.openstack.releases:
        found |= {name: (user, values) for user, name, values in _logins(release.values, {}) if of_kind(name)}
        for name in references(release.values):
            rolls.setdefault(name, []).append(release.name)
    return [
        Account(user=user, secret=name, rolls=tuple(sorted(rolls[name])), values=values)
        for name, (user, values) in sorted(found.items())
        if jobs.get(name.partition("/")[0], {}).get(_MAKES.get(name.rpartition("/")[2], ""), True)
    ]


def _logins(values: Any, around: Mapping[str, Any]) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Yield user, secret and values of each account; the values of the endpoint it is in are beside its own."""
    if isinstance(values, Mapping):
        match values:
            case {"username": str(user), "password": {"$secret": str(name)}}:
                yield user, name, {**around, **values}
        for value in values.values():
            yield from _logins(value, values if "auth" in values else around)


def _seconds(plan: Plan, releases: Iterable[str]) -> str:
    """Return how long the slowest of ``releases`` took the last time, as text; ``""`` when nobody knows."""
    try:
        known = json.loads((state_dir(plan.site) / TIMES).read_text(encoding="utf-8"))
        times = [float(known[name]) for name in releases if name in known]
    except (OSError, ValueError, TypeError):
        return ""
    return f" (the last time {max(times):.0f} s)" if times else ""
