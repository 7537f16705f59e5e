"""Users of services in Keystone, which has one password a user: a second user takes the first one's place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..cloud.keystone import Keystone
from ..errors import GroundupError

DEFAULT = "default"  # id of the domain with that name
_MADE, _UNAUTHORIZED = 201, 401


def accepts(keystone: Keystone, user: str, password: str, *, domain: str) -> bool:
    """Return whether Keystone lets ``user`` in. Raises GroundupError when it does not say.

    No project is asked for: a user without a role there is answered as one with a wrong password.
    """
    home = {"id": domain} if domain == DEFAULT else {"name": domain}
    login = {"methods": ["password"], "password": {"user": {"name": user, "domain": home, "password": password}}}
    answer = keystone.send("POST", "/auth/tokens", {"auth": {"identity": login, "scope": "unscoped"}})
    if answer.status not in (_MADE, _UNAUTHORIZED):
        raise _failed(f"no answer to a login of {user}: {answer.status}")
    return answer.status == _MADE


@dataclass(frozen=True, slots=True)
class Users:
    """Users, by the administrator."""

    keystone: Keystone

    def id_of(self, name: str, *, domain: str) -> str:
        """Return the id of a user, "" when there is none. Raises GroundupError."""
        found = self._find(name, domain)
        return str(found["id"]) if found else ""

    def copy(self, old: str, new: str, password: str, *, domain: str) -> None:
        """Make the user ``new`` with the roles and options of ``old``. It is let in when it has all of them.

        Roles on the system and inherited ones no account of a service has. Raises GroundupError.
        """
        call, model = self.keystone.call, self._find(old, domain)
        if not model:
            raise _failed(f"there is no user {old}")
        wanted = {"password": password, "options": model.get("options") or {}}
        found = self._find(new, domain)
        if not found:
            body = {"name": new, "domain_id": model["domain_id"], "enabled": False, **wanted}
            found = call("POST", "/users", {"user": body})["user"]
        for one in self.keystone.all("role_assignments", **{"user.id": model["id"]}):
            for kind in ("project", "domain"):
                if kind in one["scope"] and "OS-INHERIT:inherited_to" not in one["scope"]:
                    place = f"/{kind}s/{one['scope'][kind]['id']}"
                    call("PUT", f"{place}/users/{found['id']}/roles/{one['role']['id']}")
        call("PATCH", f"/users/{found['id']}", {"user": {**wanted, "enabled": True}})

    def set_password(self, name: str, password: str, *, domain: str) -> None:
        """Give a user another password, which ends its tokens. Raises GroundupError."""
        if not (found := self.id_of(name, domain=domain)):
            raise _failed(f"there is no user {name}")
        self.keystone.call("PATCH", f"/users/{found}", {"user": {"password": password}})

    def delete(self, name: str, *, domain: str) -> None:
        """Delete a user. Raises GroundupError."""
        if found := self.id_of(name, domain=domain):
            self.keystone.call("DELETE", f"/users/{found}", absent=True)

    def _find(self, name: str, domain: str) -> dict[str, Any] | None:
        home: dict[str, Any] | None = {"id": domain} if domain == DEFAULT else self.keystone.named("domains", domain)
        return self.keystone.named("users", name, domain_id=str(home["id"])) if home else None


def _failed(what: str) -> GroundupError:
    return GroundupError(
        f"Keystone: {what}", where="users of services", why="accounts change only where Keystone answers",
        remedy="run the playbook groundup.cloud.openstack, tag verify: it says what is wrong with Keystone; then run "
        "this again",
    )  # fmt: skip
