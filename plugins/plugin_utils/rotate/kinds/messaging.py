"""Accounts of the services in RabbitMQ, which has one password an account: a second account takes the first's place.

Both may do everything in the service's virtual host. The old one is deleted when none of its connections is left.
"""

from __future__ import annotations

from ..accounts import AccountRotation, Change, Credential
from ..rabbitmq import Queue, member


class MessagingAccounts(AccountRotation):
    """Rotate them."""

    name, server, renames, hosts = "messaging", "RabbitMQ", True, True
    loses = "services lose the message queue until somebody makes the old accounts again"

    @property
    def queue(self) -> Queue:
        """Return a member. Raises GroundupError when none is Ready."""
        return member(self.api, self.namespace, Credential("rabbitmq", self.asked.store.get("rabbitmq/admin")))

    def of_kind(self, name: str) -> bool:
        """Return whether it is a service's."""
        return name.endswith("/rabbitmq")

    def accepts(self, login: Credential) -> bool:
        """Ask a member."""
        return self.queue.accepts(login)

    def admit(self, change: Change) -> None:
        """Make the account."""
        self.queue.make(change.new, str(change.account.values["path"]).lstrip("/"))

    def busy(self, change: Change) -> list[str]:
        """Return the connections of the old account."""
        return [f"{change.old.user} is connected from {peer}" for peer in self.queue.peers(change.old.user)]

    def expel(self, change: Change) -> None:
        """Delete the account."""
        self.queue.delete(change.old.user)


KIND = MessagingAccounts
