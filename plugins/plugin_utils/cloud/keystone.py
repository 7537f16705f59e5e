"""Keystone's API with the administrator's token: small requests, without openstacksdk, which takes 0.3 CPU-s to load.

Names are looked up by Keystone's own filters, and each answer is compared again: its database takes accents and blanks
at the end for nothing, and a directory may have a name twice. Whoever gets a role by a name must be the one meant.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode, urlsplit

from .. import https
from ..errors import GroundupError
from ..https import Answer, UnansweredError
from ..services.keystone import ADMIN, scoped_request
from .administrator import GATEWAY, VERIFY, UnreachedError, administrator

if TYPE_CHECKING:
    from ..plan.types import Plan

Send = Callable[[str, str, Any], Answer]  # method, path below /v3, body
_TIMEOUT = 120.0  # seconds: Keystone asks each server of a directory in turn
_OK, _NOT_FOUND, _BEYOND = 200, 404, 300


@dataclass(frozen=True, slots=True)
class Keystone:
    """What is asked of Keystone."""

    send: Send

    def call(self, method: str, path: str, body: Any = None, *, absent: bool = False) -> Any:
        """Return the answer's JSON; None for 404 if ``absent`` is an answer. Raises GroundupError."""
        answer = self.send(method, path, body)
        if absent and answer.status == _NOT_FOUND:
            return None
        if not _OK <= answer.status < _BEYOND:
            said = (answer.body.get("error") or {}).get("message") if isinstance(answer.body, dict) else None
            raise GroundupError(
                f"Keystone answers {answer.status}: {said or answer.data[:300].decode(errors='replace')}",
                where=f"{method} {path.partition('?')[0]}",
                why="users of directories and providers may lack roles of the site file, or have former ones",
                remedy="see what it says, and the log of Keystone's pods: kubectl logs deployment/keystone-api",
            )
        return answer.body

    def all(self, kind: str, path: str = "", **filters: str) -> Iterator[dict[str, Any]]:
        """Yield all objects of a kind, such as "projects", page by page. Raises GroundupError for half a list."""
        at: str | None = f"{path or f'/{kind}'}?{urlencode(filters, quote_via=quote)}".rstrip("?")
        while at:
            body = self.call("GET", at)
            if not isinstance(body, dict) or not isinstance(body.get(kind), list) or body.get("truncated"):
                raise GroundupError(
                    f"Keystone's list of {kind} is not whole",
                    where=f"GET {at.partition('?')[0]}",
                    why="what is not in it would be made again, or stay",
                    remedy="take list_limit out of Keystone's configuration (openstack.overrides)",
                )
            yield from body[kind]
            following = urlsplit(str((body.get("links") or {}).get("next") or ""))
            at = f"{path or f'/{kind}'}?{following.query}" if following.query else None

    def named(self, kind: str, name: str, **place: str) -> dict[str, Any] | None:
        """Return the one object of that name, None when there is none. Raises GroundupError for several."""
        same = [one for one in self.all(kind, name=name, **place) if str(one["name"]).casefold() == name.casefold()]
        if len(same) > 1:
            raise GroundupError(
                f"{len(same)} {kind} are called {name}",
                where=f"Keystone, {kind} {', '.join(str(one['id']) for one in same)}",
                why="roles might be given to somebody else's",
                remedy="rename all but one; of a directory: groups.filter, groups.tree or groups.name tell them apart",
            )
        return same[0] if same else None


def of_site(plan: Plan, *, password: str = "") -> Keystone:
    """Return the site's own Keystone, for its administrator. ``password``: another one than the store's.

    Raises GroundupError, UnreachedError while it does not answer.
    """
    headers = dict[str, str]()
    send = _sender(plan, headers)
    login: Mapping[str, Any] = scoped_request({**ADMIN, "password": password or administrator(plan).password})
    answer = send("POST", "/auth/tokens", login)
    token = answer.headers.get("x-subject-token")
    if not token:
        raise GroundupError(
            f"Keystone gives the administrator no token, and answers {answer.status}",
            where=administrator(plan).url,
            why="whoever asks the cloud needs one",
            remedy=VERIFY,
        )
    headers["X-Auth-Token"] = token
    return Keystone(send)


def anonymous(plan: Plan) -> Keystone:
    """Return the site's own Keystone, for nobody yet. Its calls raise UnreachedError while it does not answer."""
    return Keystone(_sender(plan, {}))


def _sender(plan: Plan, headers: Mapping[str, str]) -> Send:
    admin = administrator(plan)
    base = admin.url.rstrip("/")

    def send(method: str, path: str, body: Any) -> Answer:
        try:
            answer = https.request(
                method, f"{base}{path}", plan=plan, authority=admin.authority, body=body, headers=headers,
                timeout=_TIMEOUT,
            )  # fmt: skip
        except UnansweredError as error:
            raise UnreachedError(error.what, where="Keystone", why=error.why, remedy=VERIFY) from error
        if answer.status in GATEWAY:
            said = f"the edge answers {answer.status}: no Keystone is behind it"
            raise UnreachedError(said, where="Keystone", why="nobody can log in", remedy=VERIFY)
        return answer

    return send
