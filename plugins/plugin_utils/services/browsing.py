"""Provide a minimal browser for verifiers: cookies, CSRF tokens, forms."""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from http.cookies import SimpleCookie
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from ..health.verification import Check
from ..https import UnansweredError

if TYPE_CHECKING:
    from ..https import Answer

LOGIN = "/auth/login/"
_TOKEN = re.compile(r"""name=["']csrfmiddlewaretoken["'] value=["']([^"']+)["']""")
_OBJECT = "Deployment/horizon"


@dataclass(kw_only=True)
class Browser:
    """A browser session on a Django site."""

    ask: Callable[..., Answer]
    url: str
    cookies: dict[str, str] = field(default_factory=dict, repr=False)
    token: str = field(default="", repr=False)  # from the forms of the last page

    def open(self, path: str) -> Answer:
        """Return a page. Raises UnansweredError for a status of 400 or above."""
        return self._send("GET", path)

    def submit(self, path: str, **fields: str) -> Answer:
        """Submit a form of the last page and return the answer. Raises UnansweredError."""
        if not self.token:
            raise UnansweredError("the page before has no form to answer", where=f"{self.url}{path}")
        return self._send("POST", path, urlencode({**fields, "csrfmiddlewaretoken": self.token}).encode())

    def _send(self, method: str, path: str, body: bytes | None = None) -> Answer:
        headers = {
            "Accept": "text/html",
            "Content-Type": "application/x-www-form-urlencoded",
            "Cookie": "; ".join(f"{name}={value}" for name, value in self.cookies.items()),
            "Referer": f"{self.url}{LOGIN}",
            "Origin": self.url,
        }
        answer = self.ask(method, f"{self.url}{path}", body=body, headers=headers)
        if answer.status >= 400:
            raise UnansweredError(f"{method} answers {answer.status}", where=f"{self.url}{path}")
        for line in answer.cookies:
            self.cookies |= {name: morsel.value for name, morsel in SimpleCookie(line).items()}
        found = _TOKEN.search(answer.data.decode(errors="replace"))
        self.token = html.unescape(found[1]) if found else self.token
        return answer


def judge(*, login: int, page: str, after: str, user: str, project: str, api: str) -> tuple[Check, ...]:
    """Check that a login worked, its page is the user's, and the page is closed ``after`` the logout.

    ``page`` lists the APIs of the project, ``api`` among them. ``after``: the redirect of the page after the logout.
    """
    text = html.unescape(re.sub(r"<[^>]+>", " ", page))
    missing = [what for what in (f"project {project}", f"user {user}", api) if what.split()[-1] not in text]
    shown = f"does not name {', '.join(missing)}" if missing else f"names {user}, project {project} and {api}"
    return (
        Check(
            name="login", ok=login == 302, layer="service" if login == 302 else "credentials", object=_OBJECT,
            detail=f"{user} is in" if login == 302 else "the form came back: the password was not taken",
        ),
        Check(name="page", ok=not missing, detail=f"the project's page {shown}", object=_OBJECT),
        Check(
            name="logout", ok=LOGIN in after, object=_OBJECT,
            detail="the page asks for a login again" if LOGIN in after else "the page is shown without a login",
        ),
    )  # fmt: skip
