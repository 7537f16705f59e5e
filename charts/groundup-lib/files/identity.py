#!/usr/bin/env python3
"""Make what a service needs in Keystone: its users with project and roles, its services and their endpoints.

Usage: identity.py FILE      FILE: {region, roles: [...], users: [...], services: [...]}. The OS_* variables are the
administrator's. A user without a project has its roles on its domain; roles are those that nobody is given here.

One process and one token for all of it: the start of Python and its libraries is what such a job costs. Safe to repeat,
and beside the jobs of other services: what another makes at the same moment is taken as it is.

A user has exactly the roles that FILE gives it. Keystone's rules for people's passwords lock no service out.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

WAIT = 300.0  # seconds Keystone may be away
PAUSE = 3.0
REFUSALS = 3  # times Keystone refuses a password before it is set: one Keystone of several may be wrong
UNAUTHORIZED, CONFLICT, TOO_MANY, SERVER_ERROR = 401, 409, 429, 500
# Without them five wrong passwords of anybody lock a service out. It does not change its password: who stole it cannot.
OPTIONS = {
    "ignore_lockout_failure_attempts": True,
    "ignore_password_expiry": True,
    "ignore_change_password_upon_first_use": True,
    "ignore_user_inactivity": True,
    "lock_password": True,
}


def status(error: Exception) -> int | None:
    """Return the HTTP status in an error of the SDK, None for no answer."""
    code = getattr(error, "http_status", None) or getattr(error, "status_code", None)
    return code if isinstance(code, int) else None


def ensure(what: str, find: Callable[[], Any], create: Callable[[], Any]) -> Any:
    """Return what ``find`` finds, made by ``create`` when it is missing."""
    found = find()
    if found is not None:
        return found
    try:
        made = create()
    except Exception as error:
        if status(error) != CONFLICT or (found := find()) is None:
            raise
        return found
    print(f"{what}: made", flush=True)
    return made


class Identity:
    """Keystone, and what was found in it so far."""

    def __init__(self, connection: Any) -> None:
        self.connection, self.api = connection, connection.identity
        self.domains: dict[str, str] = {}

    def domain(self, name: str) -> str:
        """Return the id of a domain. The charts write `default` for the one whose name is Default."""
        if name.lower() == "default":
            return "default"
        if name not in self.domains:
            found = ensure(
                f"domain {name}", lambda: self.api.find_domain(name), lambda: self.api.create_domain(name=name)
            )
            self.domains[name] = found.id
        return self.domains[name]

    def role(self, name: str) -> Any:
        """Return a role."""
        return ensure(f"role {name}", lambda: self.api.find_role(name), lambda: self.api.create_role(name=name))

    def project(self, name: str, domain: str) -> Any:
        """Return a project of a domain."""
        where = self.domain(domain)
        return ensure(
            f"project {name}",
            lambda: self.api.find_project(name, domain_id=where),
            lambda: self.api.create_project(name=name, domain_id=where),
        )

    def user(self, wanted: dict[str, Any]) -> None:
        """Make a user with its project and roles, and see that its password is the one it is to have."""
        name, password, home = wanted["name"], wanted["password"], self.domain(wanted["domain"])
        project = self.project(wanted["project"], wanted["project_domain"]) if "project" in wanted else None
        user = ensure(
            f"user {name}",
            lambda: self.api.find_user(name, domain_id=home),
            lambda: self.api.create_user(name=name, domain_id=home, password=password, options=OPTIONS),
        )
        roles = [self.role(each) for each in wanted["roles"]]
        for role in roles:
            if project:
                self.api.assign_project_role_to_user(project, user, role)
            else:
                self.api.assign_domain_role_to_user(home, user, role)
        self.limit(user, ("project", project.id) if project else ("domain", home), {role.id for role in roles})
        self.exempt(user)
        if not self.works(name, password, home):
            self.api.update_user(user, password=password)
            print(f"user {name}: password set", flush=True)
        where = f"project {wanted['project']}" if project else f"domain {wanted['domain']}"
        print(f"user {name}: {', '.join(wanted['roles'])} of {where}", flush=True)

    def limit(self, user: Any, place: tuple[str, str], roles: set[str]) -> None:
        """Take every role from a user that it is not given at its ``place``."""
        for one in list(self.api.role_assignments(user_id=user.id)):
            scope, role = one.scope, one.role["id"]
            kind = next(kind for kind in ("project", "domain", "system") if kind in scope)
            inherited = "OS-INHERIT:inherited_to" in scope
            if kind == "system":
                self.api.unassign_system_role_from_user(user.id, role, "all")
            elif (kind, scope[kind]["id"]) != place or role not in roles or inherited:
                take = getattr(self.api, f"unassign_{kind}_role_from_user")
                take(scope[kind]["id"], user.id, role, **({"inherited": True} if inherited else {}))
            else:
                continue
            print(f"user {user.name}: role {role} of a {kind} taken away", flush=True)

    def exempt(self, user: Any) -> None:
        """Exempt a user from the rules for people's passwords; what it then cannot log in by is its password.

        Ends the program when the user cannot be exempted, or is switched off: another password would not help.
        """
        if not OPTIONS.items() <= (user.options or {}).items():
            user = self.api.update_user(user, options=OPTIONS)
            print(f"user {user.name}: exempt from lockout and expiry", flush=True)
        if not OPTIONS.items() <= (user.options or {}).items():
            raise SystemExit(f"user {user.name}: Keystone does not keep its options; is its domain read-only?")
        if not user.is_enabled:
            raise SystemExit(f"user {user.name} is disabled: openstack user set --enable {user.id}")

    def works(self, name: str, password: str, domain: str) -> bool:
        """Return whether a password works. To set it again for nothing would end every token of the user.

        No project is asked for: a Keystone that does not know of a role yet answers as to a wrong password.
        """
        for left in reversed(range(REFUSALS)):
            if self.accepted(name, password, domain):
                return True
            if left:
                time.sleep(PAUSE)
        return False

    def accepted(self, name: str, password: str, domain: str) -> bool:
        """Return whether Keystone accepts a password now. Whatever else it answers is raised."""
        from keystoneauth1 import session
        from keystoneauth1.identity import v3

        admin = self.connection.session
        account = v3.Password(
            admin.auth.auth_url, username=name, password=password, user_domain_id=domain, unscoped=True
        )
        try:
            session.Session(auth=account, verify=admin.verify, timeout=60).get_token()
        except Exception as error:
            if status(error) != UNAUTHORIZED:
                raise
            return False
        return True

    def service(self, wanted: dict[str, Any], region: str) -> None:
        """Make a service of the catalog with one endpoint an interface, and bring their URLs up to date."""
        kind, name = wanted["type"], wanted["name"]
        service = ensure(
            f"service {name} ({kind})",
            lambda: next((one for one in self.api.services(type=kind) if one.name == name), None),
            lambda: self.api.create_service(type=kind, name=name),
        )
        found = [one for one in self.api.endpoints(service_id=service.id) if one.region_id == region]
        for interface, url in wanted["endpoints"].items():
            mine = [one for one in found if one.interface == interface]
            what = f"endpoint {kind} {interface} {url}"
            for surplus in mine[1:]:
                self.api.delete_endpoint(surplus)
                print(f"{what}: a second one, {surplus.url}, removed", flush=True)
            if not mine:
                self.api.create_endpoint(service_id=service.id, interface=interface, url=url, region_id=region)
                print(f"{what}: made", flush=True)
            elif mine[0].url != url:
                print(f"{what}: was {mine[0].url}", flush=True)
                self.api.update_endpoint(mine[0], url=url)
            else:
                print(f"{what}: there", flush=True)


def converge(connection: Any, wanted: dict[str, Any]) -> None:
    """Make everything in ``wanted``."""
    identity = Identity(connection)
    region = wanted["region"]
    ensure(
        f"region {region}",
        lambda: identity.api.find_region(region),
        lambda: identity.api.create_region(id=region),
    )
    for role in wanted.get("roles", ()):
        identity.role(role)
    for user in wanted["users"]:
        identity.user(user)
    for service in wanted["services"]:
        identity.service(service, region)


def patiently(work: Callable[[], None]) -> None:
    """Do ``work``, again from its beginning as long as Keystone is away. What it refuses ends the program."""
    end = time.monotonic() + WAIT
    while True:
        try:
            return work()
        except Exception as error:
            refused = status(error)
            if type(error).__module__.partition(".")[0] not in ("keystoneauth1", "openstack"):
                raise
            if (refused and refused != TOO_MANY and refused < SERVER_ERROR) or time.monotonic() > end:
                raise SystemExit(f"{type(error).__name__}: {error}") from None
            print(f"Keystone does not answer yet: {type(error).__name__}", flush=True)
            time.sleep(PAUSE)


def main() -> None:
    """Do what FILE says."""
    import openstack

    wanted = json.loads(Path(sys.argv[1]).read_text())
    patiently(lambda: converge(openstack.connect(load_yaml_config=False), wanted))


if __name__ == "__main__":
    main()
