"""Providers of logins in Keystone: identity provider, protocol and mapping, and the groups of their users.

Our providers are marked in their description; no others are changed. Those that the site file no longer has go with
their mapping. Domains and groups stay, since others may have given them more; their roles are `grants`' matter.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...module_utils._base.changes import Changes
from ...module_utils._base.yaml_text import dump
from ..errors import GroundupError
from ..services.federation import PROTOCOL
from .keystone import Keystone

if TYPE_CHECKING:
    from ..plan.part_types import IdentityProviderPlan
    from ..plan.types import Plan

_MARK = "groundup.cloud: "  # how descriptions of ours begin, the site's name after it
_OURS = "groundup-"  # how our mappings are named
_PLACE = "/OS-FEDERATION"


def foresee(plan: Plan, changes: Changes) -> None:
    """Record what a cloud not deployed yet will get."""
    for one in plan.identity.providers:
        shown = {"issuer": one.issuer, "domain": one.domain, "rules": list(one.rules)}
        changes.add(f"create provider {one.name}", name=f"provider {one.name}", after=dump(shown))


@dataclass(slots=True, kw_only=True)
class Federation:
    """The part of a cloud's Keystone that is about providers."""

    keystone: Keystone
    plan: Plan
    changes: Changes

    def check(self) -> None:
        """Raise GroundupError for what is not this site's, and for groups that are missing."""
        for one in self.plan.identity.providers:
            domain = self.keystone.named("domains", one.domain)
            where = f"Keystone, identity provider {one.name}; identity.providers.{one.name}"
            self._check_owner(one, domain, where)
            if domain and self.keystone.call("GET", f"/domains/{domain['id']}/config", absent=True) is not None:
                raise GroundupError(
                    f"users of {one.name} would be in the domain {one.domain}, whose users a directory keeps",
                    where=f"Keystone, domain {one.domain}; identity.providers.{one.name}.domain",
                    why="who logs in by the provider would be in groups of the directory",
                    remedy="write a domain of their own; or delete that one, which the site file may have had before: "
                    f"openstack domain set --disable {one.domain}; openstack domain delete {one.domain}",
                )
            for group in [group for group, made in one.groups.items() if not made]:
                if not domain or not self.keystone.named("groups", group, domain_id=domain["id"]):
                    raise GroundupError(
                        f"Keystone has no group {group} in domain {one.domain}",
                        where=f"identity.providers.{one.name}.mapping",
                        why="users of the provider would be in it",
                        remedy="create it, or correct the name; groups are made with create: true",
                    )

    def _check_owner(self, one: IdentityProviderPlan, domain: Mapping[str, Any] | None, where: str) -> None:
        found = self._found(f"/identity_providers/{one.name}", "identity_provider")
        if found and found.get("description") != self._mark:
            raise GroundupError(
                f"Keystone has a provider {one.name} that is not this site's",
                where=where,
                why="whoever made it may still use it; it is not changed",
                remedy="write another name, or delete it when nobody uses it: openstack identity provider delete",
            )
        if found and (domain is None or found["domain_id"] != domain["id"]):
            raise GroundupError(
                f"users of {one.name} are in another domain than {one.domain}",
                where=f"{where}.domain",
                why="Keystone moves no provider to another domain",
                remedy="write the domain it has; or take the provider out, run this, and write it again: its users "
                "are then new ones",
            )

    def converge(self) -> None:
        """Make Keystone's objects as planned: domain and groups first, the protocol last; before it nobody logs in."""
        for one in self.plan.identity.providers:
            domain = self._domain(one.domain)
            for group in one.groups:
                self._group(one.domain, domain, group)
            self._object(f"mapping {_OURS}{one.name}", f"/mappings/{_OURS}{one.name}", {"rules": list(one.rules)})
            wanted = {"remote_ids": [one.issuer], "description": self._mark}
            place = f"/identity_providers/{one.name}"
            found = self._object(
                f"provider {one.name}", place, wanted, kind="identity_provider", domain_id=domain, enabled=True
            )
            if found and not found.get("enabled", True):  # by hand: an incident, perhaps
                self.changes.warnings.append(
                    f"provider {one.name} is disabled, and stays so: nobody logs in by it; to end that, "
                    f"openstack identity provider set --enable {one.name}"
                )
            wanted = {"mapping_id": f"{_OURS}{one.name}"}
            self._object(f"protocol {PROTOCOL} of {one.name}", f"{place}/protocols/{PROTOCOL}", wanted)

    def remove_former(self) -> None:
        """Delete providers of ours that the site file no longer has."""
        planned = {one.name for one in self.plan.identity.providers}
        for found in self.keystone.all("identity_providers", f"{_PLACE}/identity_providers"):
            name = str(found["id"])
            if found.get("description") != self._mark or name in planned or not self.changes.add(
                f"delete provider {name}"
            ):  # fmt: skip
                continue
            place = f"{_PLACE}/identity_providers/{name}"
            for protocol in list(self.keystone.all("protocols", f"{place}/protocols")):
                self.keystone.call("DELETE", f"{place}/protocols/{protocol['id']}", absent=True)
            self.keystone.call("DELETE", place, absent=True)
            self.keystone.call("DELETE", f"{_PLACE}/mappings/{_OURS}{name}", absent=True)

    @property
    def _mark(self) -> str:
        return f"{_MARK}{self.plan.site}"

    def _domain(self, name: str) -> str:
        """Return the id of a domain, made when it is missing; "" in a dry run."""
        found = self.keystone.named("domains", name)
        line = f"create domain {name}"
        if found is None and line not in self.changes.done and self.changes.add(line):
            found = self.keystone.call("POST", "/domains", {"domain": {"name": name, "enabled": True}})["domain"]
        return str(found["id"]) if found else ""

    def _group(self, domain: str, at: str, name: str) -> None:
        line = f"create group {name} of domain {domain}"
        there = at and self.keystone.named("groups", name, domain_id=at)
        if not there and line not in self.changes.done and self.changes.add(line):
            self.keystone.call("POST", "/groups", {"group": {"name": name, "domain_id": at}})

    def _found(self, path: str, kind: str) -> dict[str, Any] | None:
        body = self.keystone.call("GET", f"{_PLACE}{path}", absent=True)
        return dict(body[kind]) if body else None

    def _object(
        self, what: str, path: str, wanted: Mapping[str, Any], *, kind: str = "", **fixed: Any
    ) -> dict[str, Any] | None:
        """Create or correct an object, whose kind is the first word of ``what`` else; return what there was.

        ``fixed``: never corrected.
        """
        kind = kind or what.partition(" ")[0]
        found = self._found(path, kind)
        if found is None:
            if self.changes.add(f"create {what}", name=what, after=dump(dict(wanted))):
                self.keystone.call("PUT", f"{_PLACE}{path}", {kind: {**fixed, **wanted}})
        elif other := {key: found.get(key) for key, value in wanted.items() if found.get(key) != value}:
            after = {key: wanted[key] for key in other}
            if self.changes.add(f"change {what}", name=what, before=dump(other), after=dump(after)):
                self.keystone.call("PATCH", f"{_PLACE}{path}", {kind: after})
        return found


def broken(plan: Plan, ask: Any) -> Mapping[str, str]:
    """Return the providers that Keystone sends nobody to, and why. ``ask``: asks a public name for a page."""
    from ..https import UnansweredError
    from ..services.federation import DISCOVERY, dashboard_origin, login_path
    from ..services.parts import public_endpoint

    identity = public_endpoint(plan, "keystone").name
    found: dict[str, str] = {}
    for one in plan.identity.providers:
        url = f"https://{identity}{login_path(one.name)}?origin={dashboard_origin(plan)}"
        try:
            answer = ask("GET", url, headers={"Accept": "text/html"})
        except UnansweredError as error:
            found[one.name] = error.what
            continue
        if answer.status != 302:
            found[one.name] = (
                f"Keystone answers {answer.status}: its pods get no description from "
                f"{one.issuer.rstrip('/')}{DISCOVERY}, or trust no certificate of that server"
            )
        elif f"client_id={one.client_id}" not in answer.headers.get("location", "").replace("%3A", ":").replace(
            "%2F", "/"
        ):
            found[one.name] = (
                f"Keystone sends browsers to {answer.headers.get('location', 'nowhere').partition('?')[0]}"
            )
    return found
