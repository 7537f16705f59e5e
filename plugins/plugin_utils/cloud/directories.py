"""Domains of Keystone that are directories (LDAP): whether each answers, and which step fails."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from ..errors import GroundupError
from ..kube.types import resource_path
from ..kube.workloads import is_ready
from .administrator import VERIFY, UnreachedError
from .keystone import Keystone

if TYPE_CHECKING:
    from ..kube.client import Api
    from ..plan.part_types import LdapPlan
    from ..plan.types import Plan

Probe = Callable[[], Mapping[str, Mapping[str, str]]]
_NOBODY = "groundup-asks"  # a name no user has: the directory must answer, and need not list all it has
_COMMAND = ("python3", "/opt/bin/directories.py", "/etc/keystone/domains.json")  # of the built-in chart
_FIELD = "site file key identity.domains.{domain}.ldap"
_OTHER = "see what it says"
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
                remedy=VERIFY,
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


def faults(keystone: Keystone, plan: Plan, probe: Probe | None) -> dict[str, GroundupError]:
    """Return what is wrong with each directory that Keystone finds no users in, by domain."""
    asked = probe() if probe and plan.identity.domains else {}
    found = {name: _fault(keystone, name, one, asked) for name, one in plan.identity.domains.items()}
    return {name: fault for name, fault in found.items() if fault}


def _fault(
    keystone: Keystone, name: str, one: LdapPlan, asked: Mapping[str, Mapping[str, str]]
) -> GroundupError | None:
    where, why = _FIELD.format(domain=name), "its users cannot log in; the cloud's own accounts can"
    found = asked.get(name, {})
    if step := found.get("fault"):
        what, remedy = _FAULTS[step]
        said = what.format(subject=found["subject"])
        return GroundupError(
            f"directory of domain {name}: {said} ({found['said']})",
            where=where, why=why, remedy=remedy.format(secret=one.secret or "none of an anonymous account"),
        )  # fmt: skip
    domain = keystone.named("domains", name)
    if domain is None:
        return GroundupError(
            f"Keystone has no domain {name}", where=where, why=why,
            remedy="run the playbook groundup.cloud.openstack, and see the log of its job keystone-domain-manage",
        )  # fmt: skip
    try:
        keystone.call("GET", f"/users?domain_id={domain['id']}&name={_NOBODY}")
    except UnreachedError:
        raise
    except GroundupError as error:
        return GroundupError(
            f"directory of domain {name}, asked for users: {error.what}", where=where, why=why, remedy=error.remedy
        )
    return None
