"""Keystone's users of services. Keystone has one password a user: a second user takes the first one's place.

A new password would end every token of the user at once, while its pods still have the old one. An application
credential keeps the user, but ends with its tokens as well, and cannot act by a trust. So a second user gets the same
roles, everything uses it, and the first is deleted. Its id goes with it: who is named by id in trusts, access lists or
key pairs stays, unless that is accepted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ....module_utils._base.consent import Reason
from ...cloud import keystone
from ...errors import GroundupError
from ...services.keystone import ADMIN_CREDENTIAL
from ...vault.names import reference
from ..accounts import Account, AccountRotation, Accounts, Change, Credential
from ..base import Foreseen, RotationAsked
from ..keystone import DEFAULT, Users, accepts
from ..mariadb import DatabaseAccounts, members

REFERENCES = "references"
_OTHERS = (ADMIN_CREDENTIAL, "keystone/test")  # of people, and of the charts' own tests
_GIVE_UP = f'-e \'{{"rotate_force": ["{REFERENCES}"]}}\' gives that up'
_DOMAINS = {"domain_name", "user_domain_name"}


class ServiceUsers(AccountRotation):
    """Rotate them."""

    name, server, renames, hosts = "service-users", "Keystone", True, True
    loses = "services lose Keystone until somebody makes the old users again, or what names a user by its id is lost"
    codes = (REFERENCES,)

    def __init__(self, asked: RotationAsked) -> None:
        """Take what is asked."""
        super().__init__(asked)
        self.stays: dict[str, str] = {}  # users that are not rotated, and why

    def of_kind(self, name: str) -> bool:
        """Return whether it may be a service's."""
        return name not in _OTHERS

    @property
    def accounts(self) -> list[Account]:
        """Return the accounts that say which domain of Keystone they are in."""
        return [one for one in super().accounts if _DOMAINS & one.values.keys()]

    def survey(self) -> Accounts:
        """Return the accounts without those that stay as they are."""
        found = super().survey()
        if found.open:
            return found
        fixed = dict(self._fixed())
        self.stays = {one.user: fixed[one.secret] for one in found.todo if one.secret in fixed}
        rest = [one for one in found.todo if one.secret not in fixed]
        named = self._referred({one.user: self._present(one) for one in rest})
        self.stays |= {
            user: f"named by its id in {places}, which another user cannot use; {_GIVE_UP}"
            for user, places in named.items()
        }
        return Accounts(todo=[one for one in rest if one.user not in self.stays], open=False)

    def reasons(self, state: Accounts) -> Iterable[Reason]:
        """Return why not."""
        if self.stays and not state.todo:
            yield Reason(text=f"no user is left to rotate: {'; '.join(self._told())}")
        else:
            yield from super().reasons(state)

    def foresee(self, state: Accounts) -> Foreseen:
        """Return the accounts, and those that stay."""
        found = super().foresee(state)
        found.lines += self._told()
        return found

    def accepts(self, login: Credential) -> bool:
        """Ask Keystone."""
        return accepts(
            keystone.anonymous(self.asked.plan), login.user, login.password, domain=self._domains[login.secret]
        )

    def admit(self, change: Change) -> None:
        """Make the second user."""
        domain = self._domains[change.new.secret]
        self._users.copy(change.old.user, change.new.user, change.new.password, domain=domain)

    def expel(self, change: Change) -> None:
        """Delete the first user, unless something has come to name it since the check. Raises GroundupError."""
        for user, places in self._referred({change.old.user: change.old}).items():
            raise GroundupError(
                f"{user} is named by its id in {places}: it is not deleted", where=f"{self.server}, user {user}",
                why="another user cannot use what names it; both are valid meanwhile",
                remedy=f"have its owner make that anew; or {_GIVE_UP}; then run this again",
            )  # fmt: skip
        self._users.delete(change.old.user, domain=self._domains[change.old.secret])

    def next_steps(self) -> str:
        """Name the users that were not rotated."""
        return "; ".join(self._told())

    @property
    def _users(self) -> Users:
        return Users(keystone.of_site(self.asked.plan))

    @property
    def _domains(self) -> dict[str, str]:
        """Return the domain of each account, by its secret."""
        return {one.secret: _domain(one) for one in self.accounts}

    def _told(self) -> list[str]:
        return [f"{user} stays as it is: {why}" for user, why in sorted(self.stays.items())]

    def _fixed(self) -> Iterator[tuple[str, str]]:
        """Yield the accounts whose name is not taken from beside the password, and where the password is."""
        plan = self.asked.plan
        for release in plan.openstack.releases:
            for path, name in bare(release.values):
                yield name, f"its name is written beside {path} of the release {release.name}, and would stay"
        if plan.ceph and plan.ceph.gateway:
            yield plan.ceph.gateway.password, "object gateways have it by the layer storage, and its name is fixed"

    def _referred(self, logins: Mapping[str, Credential]) -> dict[str, str]:
        """Return which of ``logins`` something names by their id, and where; nothing when that is given up."""
        if REFERENCES in self.asked.force:
            return {}
        users, domains = self._users, self._domains
        ids = {name: users.id_of(login.user, domain=domains[login.secret]) for name, login in logins.items()}
        naming = DatabaseAccounts(members(self.api, self.namespace)).naming([one for one in ids.values() if one])
        return {
            name: ", ".join(f"{place} ({number})" for place, number in naming[one].items())
            for name, one in ids.items() if one in naming
        }  # fmt: skip


def bare(values: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Yield place and name of each secret in ``values`` that is not the password beside a user name."""
    if (name := reference(values, path)) is not None:
        yield path, name
    elif isinstance(values, Mapping):
        match values:
            case {"username": str(), "password": {"$secret": str()}}:
                values = {key: value for key, value in values.items() if key != "password"}
        for key, value in values.items():
            yield from bare(value, f"{path}.{key}" if path else str(key))
    elif isinstance(values, (list, tuple)):
        for index, value in enumerate(values):
            yield from bare(value, f"{path}[{index}]")


def _domain(account: Account) -> str:
    said = account.values.get("domain_name") or account.values.get("user_domain_name") or DEFAULT
    return DEFAULT if str(said).lower() == DEFAULT else str(said)


KIND = ServiceUsers
