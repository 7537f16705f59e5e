"""Asks the image's Keystone as those who hold accounts of services; prints what it answers as JSON.

Usage: accounts.py URL IDENTITY.JSON
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import requests

URL = sys.argv[1]
WRONG = 7  # wrong passwords; five lock an account


def login(user: dict[str, Any], password: str | None = None, *, scoped: bool = True) -> requests.Response:
    """Ask for a token."""
    who = {"name": user["name"], "domain": {"name": user["domain"]}, "password": password or user["password"]}
    auth: dict[str, Any] = {"identity": {"methods": ["password"], "password": {"user": who}}}
    if scoped:
        auth["scope"] = {"project": {"name": user["project"], "domain": {"name": user["project_domain"]}}}
    return requests.post(f"{URL}/auth/tokens", json={"auth": auth}, timeout=60)


def tried(user: dict[str, Any], admin: str) -> dict[str, Any]:
    """Return what a service's account may do in Keystone, and whether wrong passwords lock it."""
    token = login(user)
    own, head = token.json()["token"]["user"]["id"], {"X-Auth-Token": token.headers["X-Subject-Token"]}
    new = {"user": {"original_password": user["password"], "password": "mine-from-now-on"}}
    asked = {
        "users": requests.get(f"{URL}/users", headers=head, timeout=60),
        "admin": requests.patch(f"{URL}/users/{admin}", json={"user": {"password": "x"}}, headers=head, timeout=60),
        "own": requests.post(f"{URL}/users/{own}/password", json=new, headers=head, timeout=60),
        "check": requests.get(
            f"{URL}/auth/tokens", headers={**head, "X-Subject-Token": head["X-Auth-Token"]}, timeout=60
        ),
    }
    for _ in range(WRONG):
        login(user, "wrong")
    roles = sorted(one["name"] for one in token.json()["token"]["roles"])
    return {
        **{name: said.status_code for name, said in asked.items()},
        "roles": roles,
        "after": login(user).status_code,
    }


def main() -> None:
    """Try each account of the file, the administrator's and a person's."""
    place = {"domain": "Default", "project": "admin", "project_domain": "Default"}
    admin = {"name": "admin", "password": "admins-words", **place}
    issued = login(admin)
    head, own = {"X-Auth-Token": issued.headers["X-Subject-Token"]}, issued.json()["token"]["user"]["id"]
    users = json.loads(Path(sys.argv[2]).read_text())["users"]
    found: dict[str, Any] = {user["name"]: tried(user, own) for user in users}
    person = {**admin, "name": "person", "password": "person-words"}
    body = {"user": {"name": "person", "password": "person-words", "domain_id": "default"}}
    requests.post(f"{URL}/users", json=body, headers=head, timeout=60).raise_for_status()
    for user in (admin, person):
        for _ in range(WRONG):
            login(user, "wrong")
        found[user["name"]] = login(user, scoped=False).status_code
    print(json.dumps(found))


if __name__ == "__main__":
    main()
