#!/usr/bin/env python3
"""Makes the domains of the site's values and gives each its configuration (LDAP and the like) through the API.

Usage: domains.py FILE      FILE: {domain: {section: {option: value}}}. The OS_* variables are the administrator's.
"""

from __future__ import annotations

import json
import os
import sys
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path
from typing import Any

NOT_FOUND = 404
SENSITIVE = "password"  # Keystone puts it where another text has %(password)s


class Keystone:
    """The few calls that are needed, with the administrator's token."""

    def __init__(self, url: str) -> None:
        self.url = url.rstrip("/")
        self.token: str | None = None

    def call(self, method: str, path: str, body: dict[str, Any] | None = None) -> tuple[dict[str, Any], str | None]:
        """Return the answer's body and the token in its header, if any."""
        request = urllib.request.Request(  # noqa: S310 - the API's own URL
            self.url + path,
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Content-Type": "application/json", **({"X-Auth-Token": self.token} if self.token else {})},
        )
        with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310  # the API's own URL
            return json.load(answer), answer.headers.get("X-Subject-Token")

    def login(self) -> None:
        """Get a token scoped to the administrator's project."""
        env = os.environ
        user = {
            "name": env["OS_USERNAME"],
            "password": env["OS_PASSWORD"],
            "domain": {"name": env["OS_USER_DOMAIN_NAME"]},
        }
        project = {"name": env["OS_PROJECT_NAME"], "domain": {"name": env["OS_PROJECT_DOMAIN_NAME"]}}
        identity = {"methods": ["password"], "password": {"user": user}}
        _, self.token = self.call(
            "POST", "/auth/tokens", {"auth": {"identity": identity, "scope": {"project": project}}}
        )

    def domain(self, name: str) -> str:
        """Return the id of domain ``name``, made when it is missing."""
        found, _ = self.call("GET", f"/domains?name={urllib.parse.quote(name)}")
        same = [one for one in found["domains"] if one["name"].casefold() == name.casefold()]
        if found["domains"] and not same:  # the database takes accents for nothing
            sys.exit(f"Keystone has a domain {found['domains'][0]['name']}, which it takes for {name}: rename one")
        if not same:
            same = [self.call("POST", "/domains", {"domain": {"name": name, "enabled": True}})[0]["domain"]]
        return str(same[0]["id"])

    def configure(self, name: str, config: dict[str, dict[str, Any]]) -> None:
        """Put ``config`` in place of the configuration of domain ``name``, which is made when it is missing.

        A domain of accounts in Keystone's own database is refused: a directory would hide them all.
        """
        domain = self.domain(name)
        try:
            self.call("GET", f"/domains/{domain}/config")
        except urllib.error.HTTPError as error:
            if error.code != NOT_FOUND:
                raise
            users, _ = self.call("GET", f"/users?domain_id={domain}")
            if users["users"]:
                sys.exit(
                    f"domain {name} has {len(users['users'])} users of its own, such as {users['users'][0]['name']}: "
                    "write another domain's name into identity.domains, or delete them"
                )
        written = {
            section: {option: literal(option, value) for option, value in options.items()}
            for section, options in config.items()
        }
        self.call("PUT", f"/domains/{domain}/config", {"config": written})


def literal(option: str, value: Any) -> Any:
    """Return ``value`` so that Keystone reads it as it is: in a text, a dollar and a percent sign begin a reference."""
    if not isinstance(value, str):
        return value
    text = value.replace("$", r"\$")  # not "$$", which means something else after a backslash
    return text if option == SENSITIVE else text.replace("%", "%%")


def main() -> None:
    """Do it for every domain of the file."""
    domains = json.loads(Path(sys.argv[1]).read_text() or "{}")
    keystone = Keystone(os.environ["OS_AUTH_URL"])
    keystone.login()
    for name, config in sorted(domains.items()):
        keystone.configure(name, config)
        print(f"domain {name}: configured", flush=True)


if __name__ == "__main__":
    main()
