"""Run in an image: print what each role may do by the rules of services, their own and ours, as JSON.

Usage: roles.py DIRECTORY    DIRECTORY/<service>/: files of its configuration.
Out: {service: {"rules": its rules, "may": {role: {rule: methods}}, "on": options}}.
A token is for a project, which owns what is asked for; a stranger is a member of another project.
"""

from __future__ import annotations

import importlib.metadata
import json
import logging
import sys
from pathlib import Path
from typing import Any

from oslo_config import cfg
from oslo_policy import policy  # type: ignore[import-not-found]  # of the image

HOME, OTHER, USER = "p" * 32, "q" * 32, "u" * 32
# Keystone implies: admin has manager, manager has member, member has reader.
ROLES = {
    "reader": ["reader"],
    "member": ["member", "reader"],
    "manager": ["manager", "member", "reader"],
    "admin": ["admin", "manager", "member", "reader"],
    "service": ["service"],
    "stranger": ["member", "reader"],
}


def enforcer(service: str, place: Path) -> Any:
    """Return what decides for a service, with the rules that it registers itself."""
    conf = cfg.ConfigOpts()
    conf([], default_config_files=[str(place / f"{service}.conf")])
    found = policy.Enforcer(conf, policy_file=str(place / "policy.yaml"))
    (entry,) = importlib.metadata.entry_points(group="oslo.policy.policies", name=service)
    found.register_defaults(entry.load()())
    found.suppress_deprecation_warnings = found.suppress_default_change_warnings = True
    found.load_rules()
    return found


def token(name: str) -> dict[str, Any]:
    """Return a token's attributes as services hand them to their rules."""
    project = OTHER if name == "stranger" else HOME
    return {
        **dict.fromkeys(("project_id", "project", "tenant_id", "tenant"), project), "user_id": USER, "user": USER,
        "roles": ROLES[name], "service_roles": [], "is_admin": name == "admin", "is_admin_project": True,
        "system_scope": None, "domain_id": None, "project_domain_id": "default", "user_domain_id": "default",
        "enforce_new_defaults": True,
    }  # fmt: skip


def target() -> dict[str, Any]:
    """Return what another user of project ``HOME`` made, in the words of all services."""
    keys = ("project_id", "project", "tenant_id", "tenant", "owner", "network:tenant_id", "network:project_id")
    made = {**dict.fromkeys(keys, HOME), **dict.fromkeys(("user_id", "user", "creator_id"), "o" * 32)}
    kinds = ("secret", "container", "order", "consumer", "secret_metadata", "credential", "trust", "user")
    deep = {f"target.{kind}.{name}": value for kind in kinds for name, value in made.items()}
    return {**made, **deep, "visibility": "private", "enforce_new_defaults": True}


def allowed(found: Any, creds: dict[str, Any]) -> dict[str, list[str]]:
    """Return the rules of API calls that say yes, each with its methods."""
    may = {}
    for name, rule in found.registered_rules.items():
        if isinstance(rule, policy.DocumentedRuleDefault):
            try:
                if found.enforce(name, target(), creds):
                    may[name] = sorted({str(one["method"]).upper() for one in rule.operations})
            except policy.InvalidScope:
                continue
    return may


def main() -> None:
    """Print it for all services of the image that DIRECTORY has."""
    logging.disable(logging.CRITICAL)
    known = {entry.name for entry in importlib.metadata.entry_points(group="oslo.policy.policies")}
    said = {}
    for place in sorted(Path(sys.argv[1]).iterdir()):
        if place.name in known:
            found = enforcer(place.name, place)
            own = found.registered_rules
            former = {one.deprecated_rule.name for one in own.values() if one.deprecated_rule}
            said[place.name] = {
                "rules": sorted(former | set(own)),
                "may": {role: allowed(found, token(role)) for role in ROLES},
                "on": {name: found.conf.oslo_policy[name] for name in ("enforce_scope", "enforce_new_defaults")},
            }
    print(json.dumps(said))


main()
