"""Administrators: Keystone's and Horizon's, MariaDB's with its members' own accounts, RabbitMQ's.

Members of MariaDB log in with theirs all the time, and it takes two passwords at once. Keystone and RabbitMQ take one:
only jobs of a rollout, and this machine, log in as their administrators, so the new one becomes valid right before the
rollout that brings it.
"""

from __future__ import annotations

from ...cloud import keystone as site_keystone
from ...services.keystone import ADMIN, ADMIN_CREDENTIAL
from .. import keystone, rabbitmq
from ..accounts import AccountRotation, Change, Credential
from ..mariadb import MEMBER_HOSTS, DatabaseAccounts, members

_QUEUE = "rabbitmq/admin"
_SERVERS = {ADMIN_CREDENTIAL: "Keystone", _QUEUE: "RabbitMQ", **dict.fromkeys(MEMBER_HOSTS, "MariaDB")}


class Administrators(AccountRotation):
    """Rotate them."""

    name, server, renames, hosts = "administrators", "a server", False, False
    loses = "nobody can administer the server whose password is lost"

    def of_kind(self, name: str) -> bool:
        """Return whether it is an administrator's."""
        return name in _SERVERS

    def at(self, secret: str) -> str:
        """Return the server that knows the account."""
        return _SERVERS[secret]

    def overlaps(self, secret: str) -> bool:
        """Return whether the server takes two passwords."""
        return secret in MEMBER_HOSTS

    def accepts(self, login: Credential) -> bool:
        """Ask the server, all members of MariaDB."""
        if login.secret in MEMBER_HOSTS:
            return self._database.accepts(login.user, login.password)
        if login.secret == _QUEUE:
            return rabbitmq.member(self.api, self.namespace, login).accepts(login)
        anonymous = site_keystone.anonymous(self.asked.plan)
        return keystone.accepts(anonymous, login.user, login.password, domain=ADMIN["user_domain_name"])

    def refuses(self, login: Credential) -> bool:
        """Ask the server, all members of MariaDB."""
        if login.secret in MEMBER_HOSTS:
            return self._database.refuses(login.user, login.password)
        return not self.accepts(login)

    def admit(self, change: Change) -> None:
        """Make the new valid, in MariaDB beside the old."""
        if change.new.secret in MEMBER_HOSTS:
            self._set(change, change.new.password, change.old.password)
        else:
            self._replace(change)

    def expel(self, change: Change) -> None:
        """Make the old invalid. A member of RabbitMQ that started anew in between has set it once more."""
        if change.new.secret in MEMBER_HOSTS:
            self._set(change, change.new.password)
        else:
            self._replace(change)

    def next_steps(self) -> str:
        """Return who else has Keystone's."""
        return (
            "Who is logged in as Keystone's administrator logs in again: openrc and clouds.yaml have the new password"
        )

    @property
    def _database(self) -> DatabaseAccounts:
        return DatabaseAccounts(members(self.api, self.namespace))

    def _set(self, change: Change, *passwords: str) -> None:
        self._database.set(change.new.user, *passwords, hosts=MEMBER_HOSTS[change.new.secret])

    def _replace(self, change: Change) -> None:
        """Set the new password with the old one."""
        old, new = change.old, change.new
        if new.secret == _QUEUE:
            rabbitmq.member(self.api, self.namespace, old).replace(new)
        else:
            users = keystone.Users(site_keystone.of_site(self.asked.plan, password=old.password))
            users.set_password(new.user, new.password, domain=ADMIN["user_domain_name"])


KIND = Administrators
