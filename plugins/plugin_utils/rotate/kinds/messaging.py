"""Accounts of the services in RabbitMQ, which has one password an account: a second account takes the first's place.

Both may do everything in the service's virtual host. The old one is deleted when none of its connections is left.
"""

from __future__ import annotations

from ...kube.types import resource_path
from ...kube.workloads import is_ready
from ..accounts import AccountRotation, Change, Login
from ..rabbitmq import PORT, SELECTOR, Queue, failed


class MessagingAccounts(AccountRotation):
    """Rotate them."""

    name, server, renames, hosts = "messaging", "RabbitMQ", True, True
    loses = "services lose the message queue until somebody makes the old accounts again"

    @property
    def queue(self) -> Queue:
        """Return a member that is Ready: all share the accounts. Raises GroundupError when none is."""
        api, namespace = self.api, self.namespace
        pods = api.get(resource_path("v1", "pods", namespace=namespace), labelSelector=SELECTOR)["items"]
        ready = sorted(str(pod["metadata"]["name"]) for pod in pods if is_ready(pod))
        if not ready:
            raise failed("no member is Ready", f"namespace {namespace}, pods {SELECTOR}")
        admin = Login("rabbitmq", self.asked.store.get("rabbitmq/admin"))
        return Queue(lambda: api.connect(namespace, ready[0], PORT), admin, ready[0])

    def of_kind(self, name: str) -> bool:
        """Return whether it is a service's."""
        return name.endswith("/rabbitmq")

    def accepts(self, login: Login) -> bool:
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
