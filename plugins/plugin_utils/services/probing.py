"""Call a service's public API as the administrator: shared by the verifiers of APIs."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from ..health.verification import Check, Verification
from ..https import UnansweredError
from .keystone import Token, token
from .parts import public_endpoint

if TYPE_CHECKING:
    from ..health.context import Verifier, VerifierContext
    from ..https import Answer

PROBE = "groundup-verify"  # name of all test objects of verifiers
_FORGOTTEN = 900.0  # seconds after which a test object must be a killed run's


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """A client of one API, as the administrator."""

    context: VerifierContext
    url: str
    token: Token = field(repr=False)
    headers: Mapping[str, str] = field(default_factory=dict)

    def at(self, url: str) -> Client:
        """Return this client for another URL."""
        return replace(self, url=url)

    def call(
        self, method: str, path: str, *, body: Any = None, content: str = "application/json", good: int = 200
    ) -> Answer:
        """Send a request and return the answer. Raises UnansweredError when its status is not ``good``."""
        sent = {**self.headers, "X-Auth-Token": self.token.id, "Content-Type": content}
        answer = self.context.request(method, f"{self.url}{path}", body=body, headers=sent)
        if answer.status != good:
            said = answer.data[:200].decode(errors="replace").strip()
            raise UnansweredError(f"{method} answers {answer.status}: {said}", where=f"{self.url}{path}")
        return answer

    def gone(self, path: str) -> None:
        """Delete an object that may already be gone. Raises UnansweredError."""
        sent = {**self.headers, "X-Auth-Token": self.token.id}
        status = self.context.request("DELETE", f"{self.url}{path}", headers=sent).status
        if status not in (200, 202, 204, 404):
            raise UnansweredError(f"DELETE answers {status}", where=f"{self.url}{path}")


def probe(
    service: str, ask: Callable[[Client], Iterable[Check]], *, path: str = "", headers: Mapping[str, str] | None = None
) -> Verifier:
    """Return a verifier: the checks of ``ask`` at the public URL of ``service``, or the failed request for a token.

    ``path`` is appended to the URL of every request. It raises UnansweredError.
    """

    def verify(context: VerifierContext) -> Verification:
        issued = token(context)
        if isinstance(issued, Check):
            return Verification(checks=(issued,))
        url = public_endpoint(context.plan, service).url.rstrip("/") + path
        return Verification(checks=tuple(ask(Client(context=context, url=url, token=issued, headers=headers or {}))))

    return verify


def forgotten(entry: Mapping[str, Any], *, now: datetime.datetime) -> bool:
    """Return whether an object in an API's list was left by the verifier of a killed run."""
    made = datetime.datetime.fromisoformat(str(entry.get("created_at")))
    made = made if made.tzinfo else made.replace(tzinfo=datetime.UTC)
    return str(entry.get("name")) == PROBE and (now - made).total_seconds() > _FORGOTTEN
