"""Keystone's users of services: refused by name, because each way known here fails requests or breaks references.

A new password ends every token of the user at once, and services have one password until their pods have restarted.
Another user has another id, which Heat's trusts, Barbican's and Octavia's access lists, Nova's volume attachments and
Magnum's trustees refer to. Application credentials keep the id, but services would have to log in another way.
"""

from __future__ import annotations

from collections.abc import Iterable

from ....module_utils._base.consent import Reason
from ..base import Foreseen, Kind


class ServiceUsers(Kind[None]):
    """Refuse it, and name what can be done."""

    name = "service-users"
    loses = "a new password ends every token of the service at once, and its pods have the old one until they restart"

    def survey(self) -> None:
        """Look at nothing."""

    def reasons(self, state: None) -> Iterable[Reason]:  # noqa: ARG002  # there is none
        """Return why not."""
        yield Reason(text="there is no way yet without failed requests; docs/rotation.md has what to do after a leak")

    def foresee(self, state: None) -> Foreseen:  # noqa: ARG002  # there is none
        """Return nothing."""
        return Foreseen()

    def use(self, state: None) -> None:
        """Do nothing: it is refused before."""

    def remains(self, state: None) -> list[str]:  # noqa: ARG002  # there is none
        """Return nothing: none is ever open."""
        return []


KIND = ServiceUsers
