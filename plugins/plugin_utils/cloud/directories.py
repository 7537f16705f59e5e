"""Domains of Keystone that are directories (LDAP): whether each answers, and the roles of its groups."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from ...module_utils._base.changes import Changes
from ..errors import GroundupError
from ..kube.types import resource_path
from ..kube.workloads import is_ready
from ..services.keystone import MARK

if TYPE_CHECKING:
    from ..kube.client import Api
    from ..plan.part_types import LdapPlan, RolePlan
    from ..plan.types import Plan

Probe = Callable[[], Mapping[str, Mapping[str, str]]]
_NOBODY = "groundup-asks"  # a name no user has: the directory must answer, and need not list all it has
_COMMAND = ("python3", "/opt/bin/directories.py", "/etc/keystone/domains.json")  # of the built-in chart
_FIELD = "site file key identity.domains.{domain}.ldap"
_OTHER = "see what it says"
_GONE = 404
# What failed -> what is wrong, and the remedy.
_FAULTS: dict[str, tuple[str, str]] = {
    "name": (
        "nobody knows the name of its server {subject}",
        "correct url, or the resolvers of the control hosts (hosts.dns_servers), which pods ask, too",
    ),
    "connection": (
        "its server {subject} is not reached",
        "start it, or open the way to it: from each control host, nc -vz HOST PORT; correct url if it is elsewhere",
    ),
    "tls": (
        "TLS with {subject} fails: its certificate is not trusted, is not for that name, or has ended",
        "write the certificate of the CA that signed it into ca, and into url a name of its certificate; "
        "what it shows: openssl s_client -showcerts -connect HOST:PORT",
    ),
    "bind": (
        "it refuses the bind account {subject}",
        "correct bind_dn, or the password: ansible-vault edit secrets.yml of the state directory, {secret}; "
        "then run groundup.cloud.openstack",
    ),
    "users-tree": (
        "it has no base DN {subject} of users, or does not show it to the bind account",
        "correct users.tree, or let the bind account read it",
    ),
    "groups-tree": (
        "it has no base DN {subject} of groups, or does not show it to the bind account",
        "correct groups.tree, or let the bind account read it",
    ),
    "users": ("no user fits below {subject}", "correct users.filter, users.object_class or users.tree"),
}  # fmt: skip


def probe_of(plan: Plan, api: Api) -> Probe | None:
    """Return what asks the directories from within a pod of Keystone; None with charts that bring no such program."""
    if plan.openstack.charts != "builtin":
        return None

    def ask() -> Mapping[str, Mapping[str, str]]:
        namespace = plan.openstack.namespace
        path = resource_path("v1", "pods", namespace=namespace)
        found = api.get(path, labelSelector="application=keystone,component=api").get("items") or ()
        pod = next((str(one["metadata"]["name"]) for one in found if is_ready(one)), None)
        if pod is None:
            raise GroundupError(
                "no pod of Keystone is ready",
                where=f"namespace {namespace}",
                why="the directories are asked from there",
                remedy="run the playbook groundup.cloud.openstack, tag verify",
            )
        done = api.execute(namespace, pod, _COMMAND, container="keystone-api", timeout=60.0)
        if done.code:
            said = (done.stderr or done.stdout).strip()[-300:]
            raise GroundupError(
                f"{_COMMAND[1]} ended with code {done.code}: {said}", where=f"pod {pod}",
                why="whether the directories answer is not known", remedy=_OTHER,
            )  # fmt: skip
        return dict(json.loads(done.stdout))

    return ask


def verify(identity: Any, plan: Plan, probe: Probe | None) -> tuple[str, ...]:
    """Return a line for each directory that Keystone finds users in. Raises GroundupError for one that does not."""
    asked = probe() if probe else {}
    faults = [fault for name, one in plan.identity.domains.items() if (fault := _fault(identity, name, one, asked))]
    if faults:
        first, *more = faults
        also = "".join(f"; {fault.what}" for fault in more)
        raise GroundupError(first.what + also, where=first.where, why=first.why, remedy=first.remedy)
    return tuple(f"domain {name}: its directory answers" for name in plan.identity.domains)


def _fault(identity: Any, name: str, one: LdapPlan, asked: Mapping[str, Mapping[str, str]]) -> GroundupError | None:
    where, why = _FIELD.format(domain=name), "its users cannot log in; the cloud's own accounts can"
    found = asked.get(name, {})
    if step := found.get("fault"):
        what, remedy = _FAULTS[step]
        said = what.format(subject=found["subject"])
        return GroundupError(
            f"directory of domain {name}: {said} ({found['said']})",
            where=where, why=why, remedy=remedy.format(secret=one.secret or "none of an anonymous account"),
        )  # fmt: skip
    domain = _named(identity, "domains", name=name)
    if domain is None:
        return GroundupError(
            f"Keystone has no domain {name}", where=where, why=why,
            remedy="run the playbook groundup.cloud.openstack, and see the log of its job keystone-domain-manage",
        )  # fmt: skip
    answer = identity.get(f"/users?domain_id={domain['id']}&name={_NOBODY}")
    if answer.ok:
        return None
    text = (
        (answer.json().get("error") or {}).get("message", "")
        if "json" in answer.headers.get("content-type", "")
        else ""
    )
    return GroundupError(
        f"directory of domain {name}: Keystone answers {answer.status_code} when it is asked for users: {text}",
        where=where, why=why,
        remedy="see the log of Keystone's pods, which names the cause: kubectl logs deployment/keystone-api",
    )  # fmt: skip


def foresee(plan: Plan, changes: Changes) -> None:
    """Record the roles that a cloud not deployed yet will get."""
    for name, one in plan.identity.domains.items():
        _foresee(name, one.roles, changes)


def _foresee(name: str, roles: tuple[RolePlan, ...], changes: Changes, identity: Any = None) -> None:
    """Record ``roles`` as those to be given, and with Keystone's ``identity`` the projects to be made for them."""
    for role in roles:
        made = _made(role)
        if identity and role.project and made not in changes.done:
            place = _named(identity, "domains", name=role.domain)
            if place is None or not _named(identity, "projects", name=role.project, domain_id=place["id"]):
                changes.add(made)
        changes.add(f"give {_said(name, role)}")


def converge(identity: Any, plan: Plan, changes: Changes) -> None:
    """Give the plan's roles to groups of directories, and take back those that a run gave and the plan no longer has.

    Roles that others gave stay. Each domain has, in Keystone, the list of those that are ours. Raises GroundupError.
    """
    found = {str(domain["name"]): domain for domain in _all(identity, "domains")}
    for name, domain in found.items():
        wanted = plan.identity.domains.get(name)
        if wanted:
            _domain(identity, domain, name, wanted.roles, changes)
        elif domain.get(MARK) is not None:
            _domain(identity, domain, name, (), changes)
            stays = f"domain {name} is no longer in the site file; it stays with its configuration"
            changes.warnings.append(f"{stays}: openstack domain set --disable {name}; openstack domain delete {name}")
    for name in plan.identity.domains.keys() - found.keys():  # in a dry run: a job makes them
        _foresee(name, plan.identity.domains[name].roles, changes, identity)


def _domain(identity: Any, domain: Mapping[str, Any], name: str, roles: tuple[RolePlan, ...], changes: Changes) -> None:
    if changes.check and domain.get(MARK) is None:  # no directory yet, perhaps: its groups cannot be asked for
        _foresee(name, roles, changes, identity)
        return
    ours: dict[str, str] = dict(domain.get(MARK) or {})  # path of an assignment -> what it is
    wanted: dict[str, str] = {}
    given: list[str] = []
    for role in roles:
        path = _path(identity, domain, name, role, changes)
        if path is None:  # a project to be made, in a dry run
            continue
        wanted[path] = _said(name, role)
        if not _there(identity, path):
            given.append(path)
    stale = [path for path in ours if path not in wanted]
    # Before they are given: what a killed run gave is taken back some day, too.
    _mark(identity, domain, {**ours, **{path: wanted[path] for path in given}}, changes)
    for path in given:
        if changes.add(f"give {wanted[path]}"):
            _asked(identity.put(path), f"give {wanted[path]}")
    for path in stale:
        if _there(identity, path) and changes.add(f"take back {ours[path]}"):
            _asked(identity.delete(path), f"take back {ours[path]}")
    _mark(identity, domain, {path: wanted[path] for path in (*ours, *given) if path in wanted}, changes)


def _path(identity: Any, domain: Mapping[str, Any], name: str, role: RolePlan, changes: Changes) -> str | None:
    """Return the path of a role's assignment, its project made; None when that is only predicted."""
    group = _named(identity, "groups", name=role.group, domain_id=domain["id"])
    if group is None:
        raise _missing(
            f"the directory of domain {name} has no group {role.group}", name,
            "correct the name, or groups.filter, groups.object_class and groups.name",
        )  # fmt: skip
    found = _named(identity, "roles", name=role.role)
    if found is None:
        raise _missing(f"Keystone has no role {role.role}", name, f"openstack role create {role.role}, or correct it")
    place = _named(identity, "domains", name=role.domain)
    if place is None and changes.check:
        _foresee(name, (role,), changes, identity)
        return None
    if place is None:
        raise _missing(f"Keystone has no domain {role.domain}", name, "correct its name, or make it")
    end = f"groups/{group['id']}/roles/{found['id']}"
    if role.project is None:
        return f"/domains/{place['id']}/{end}"
    project = _named(identity, "projects", name=role.project, domain_id=place["id"])
    if project is None:
        if changes.check:
            _foresee(name, (role,), changes, identity)
            return None
        changes.add(_made(role))
        body = {"project": {"name": role.project, "domain_id": place["id"]}}
        project = _asked(identity.post("/projects", json=body), f"create project {role.project}").json()["project"]
    return f"/projects/{project['id']}/{end}"


def _there(identity: Any, path: str) -> bool:
    """Return whether an assignment is there. Raises GroundupError when Keystone does not say: nothing is forgotten."""
    answer = identity.head(path)
    return bool(answer.status_code != _GONE and _asked(answer, "see whether a group has a role"))


def _mark(identity: Any, domain: Mapping[str, Any], ours: Mapping[str, str], changes: Changes) -> None:
    """Write into the domain which assignments are ours, if that is another list than before."""
    if not changes.check and domain.get(MARK) != ours:
        body = {"domain": {MARK: dict(ours)}}
        _asked(identity.patch(f"/domains/{domain['id']}", json=body), f"note whose roles of {domain['name']} are whose")
        domain[MARK] = dict(ours)  # type: ignore[index]


def _all(identity: Any, kind: str, **filters: str) -> Iterator[dict[str, Any]]:
    query = "&".join(f"{key}={quote(value, safe='')}" for key, value in filters.items())
    answer = _asked(identity.get(f"/{kind}?{query}" if query else f"/{kind}"), f"list {kind}")
    yield from answer.json()[kind]


def _named(identity: Any, kind: str, **filters: str) -> dict[str, Any] | None:
    """Return the object of that name: Keystone's database takes small and capital letters for the same."""
    return next(iter(_all(identity, kind, **filters)), None)


def _asked(answer: Any, what: str) -> Any:
    if answer.ok:
        return answer
    raise GroundupError(
        f"cannot {what}: Keystone answers {answer.status_code}: {answer.text[:300]}",
        where="Keystone", why="groups of directories have not all the roles of the site file", remedy=_OTHER,
    )  # fmt: skip


def _missing(what: str, domain: str, remedy: str) -> GroundupError:
    return GroundupError(
        what, where=f"{_FIELD.format(domain=domain)}.roles", why="the role cannot be given", remedy=remedy
    )  # fmt: skip


def _made(role: RolePlan) -> str:
    return f"create project {role.project} of domain {role.domain}"


def _said(name: str, role: RolePlan) -> str:
    on = f"project {role.project} of domain {role.domain}" if role.project else f"domain {role.domain}"
    return f"role {role.role} on {on} to group {role.group} of {name}"
