"""Application credentials of accounts: made by the account itself, and never changed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..connection import as_user
from .api import CloudApi
from .parts import Object, ResourcePart


def _read_credential(api: CloudApi, found: Object, wanted: Any) -> Any:
    all_of_it = api.all("identity", f"/users/{found['id']}/application_credentials", "application_credentials")
    made = [one for one in all_of_it if one["name"] == wanted["name"]]
    if not made:
        return {}
    roles = sorted(role["name"] for role in made[0]["roles"])  # with those that they imply
    implied: dict[str, set[str]] = {}
    for rule in api.all("identity", "/role_inferences", "role_inferences"):
        implied[rule["prior_role"]["name"]] = {one["name"] for one in rule["implies"]}
    return {**wanted, "roles": wanted["roles"] if _closed(wanted["roles"], implied) == set(roles) else roles}


def _closed(roles: Iterable[str], implied: Mapping[str, set[str]]) -> set[str]:
    """Return ``roles`` with all that they imply."""
    found: set[str] = set()
    left = set(roles)
    while left:
        found |= left
        left = {name for one in left for name in implied.get(one, ())} - found
    return found


def _write_credential(api: CloudApi, found: Object, _before: Any, after: Any) -> None:
    """Give the account its roles, and let it make the credential: Keystone lets nobody else."""
    project, user = after["project"], found["id"]
    roles = {one["name"]: one["id"] for one in api.all("identity", "/roles", "roles")}
    for role in after["roles"]:
        api.call("identity", "PUT", f"/projects/{project}/users/{user}/roles/{roles[role]}")
    account = as_user(api.cloud, user_id=user, password=after["password"], project_id=project)
    body = {"name": after["name"], "secret": after["secret"], "roles": [{"name": role} for role in after["roles"]]}
    CloudApi(account).call(
        "identity", "POST", f"/users/{user}/application_credentials", {"application_credential": body}
    )  # fmt: skip


CREDENTIAL = ResourcePart(_read_credential, _write_credential, fixed=True)
