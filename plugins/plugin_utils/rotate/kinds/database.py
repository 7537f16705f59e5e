"""Passwords of the services' accounts in MariaDB, which takes two for one account at once: nobody is refused meanwhile.

The passwords of the administrator and of the members themselves are not rotated.
"""

from __future__ import annotations

from ..accounts import AccountRotation, Change, Login
from ..mariadb import Database, members


class DatabasePasswords(AccountRotation):
    """Rotate them."""

    name, server, renames, hosts = "database", "MariaDB", False, False
    loses = "services lose the database until somebody sets the old passwords again"

    @property
    def database(self) -> Database:
        """Return the members. Raises GroundupError when one is away: what is set there, it must learn."""
        return Database(members(self.api, self.namespace))

    def of_kind(self, name: str) -> bool:
        """Return whether it is a service's."""
        return name.endswith("/db")

    def accepts(self, login: Login) -> bool:
        """Ask every member."""
        return self.database.accepts(login.user, login.password)

    def refuses(self, login: Login) -> bool:
        """Ask every member."""
        return self.database.refuses(login.user, login.password)

    def admit(self, change: Change) -> None:
        """Set both."""
        self.database.set(change.old.user, change.new.password, change.old.password)

    def expel(self, change: Change) -> None:
        """Set the new alone."""
        self.database.set(change.new.user, change.new.password)


KIND = DatabasePasswords
