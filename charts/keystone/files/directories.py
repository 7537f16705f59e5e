#!/usr/bin/env python3
"""Asks the directories (LDAP) of Keystone's domains what Keystone would, and tells which step fails.

Usage: directories.py FILE      FILE: {domain: {section: {option: value}}}, as for domains.py. Prints, as JSON,
{domain: {"fault": STEP, "said": TEXT, "subject": TEXT}}. STEP: name, connection, tls, bind, users-tree, groups-tree,
users, or "" for no fault. Keystone itself answers 500 to the first four, and has no users with the others. Reads only,
and prints no password.
"""

from __future__ import annotations

import json
import socket
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import ldap

PATIENCE = 5  # seconds for each step
PORTS = {"ldap": 389, "ldaps": 636}


class FaultError(Exception):
    """A step that failed."""

    def __init__(self, step: str, said: object, subject: str) -> None:
        """Keep what failed."""
        super().__init__(step)
        self.found = {"fault": step, "said": str(said), "subject": subject}


def reach(urls: list[str]) -> None:
    """Connect to one of ``urls``. Raises FaultError when none is reached."""
    faults = []
    for url in urls:
        parts = urlsplit(url)
        try:
            with socket.create_connection((parts.hostname, parts.port or PORTS[parts.scheme]), timeout=PATIENCE):
                return
        except socket.gaierror as error:
            faults.append(FaultError("name", error.strerror, url))
        except OSError as error:
            faults.append(FaultError("connection", error.strerror or error, url))
    raise faults[0]


def told(error: ldap.LDAPError) -> str:
    """Return the text of an error."""
    parts = error.args[0] if error.args and isinstance(error.args[0], dict) else {}
    return ": ".join(str(parts[key]) for key in ("desc", "info") if parts.get(key)) or type(error).__name__


def connect(options: dict[str, Any]) -> Any:
    """Return a connection with TLS as ``options`` say. Raises FaultError."""
    url, secure = options["url"], bool(options.get("tls_cacertfile"))
    reach(url.split(","))
    connection = ldap.initialize(url)
    if secure:
        connection.set_option(ldap.OPT_X_TLS_CACERTFILE, options["tls_cacertfile"])
        connection.set_option(ldap.OPT_X_TLS_REQUIRE_CERT, ldap.OPT_X_TLS_DEMAND)
        connection.set_option(ldap.OPT_X_TLS_NEWCTX, 0)  # otherwise the first directory's CAs are trusted for all
    connection.protocol_version = ldap.VERSION3
    connection.set_option(ldap.OPT_NETWORK_TIMEOUT, PATIENCE)
    connection.set_option(ldap.OPT_TIMEOUT, PATIENCE)
    connection.set_option(ldap.OPT_REFERRALS, ldap.OPT_OFF)
    try:
        if options.get("use_tls"):
            connection.start_tls_s()
        connection.simple_bind_s(options.get("user", ""), options.get("password", ""))
    except (ldap.SERVER_DOWN, ldap.CONNECT_ERROR) as error:  # TCP was fine just before
        raise FaultError("tls" if secure else "connection", told(error), url) from error
    except (ldap.PROTOCOL_ERROR, ldap.UNAVAILABLE, ldap.OPERATIONS_ERROR) as error:
        raise FaultError("tls" if options.get("use_tls") else "bind", told(error), url) from error
    except ldap.LDAPError as error:
        raise FaultError("bind", told(error), options.get("user", "anonymous")) from error
    return connection


def search(connection: Any, options: dict[str, Any], kind: str) -> bool:
    """Return whether the tree of a kind (user, group) has an entry that fits. Raises FaultError."""
    tree, own = options[f"{kind}_tree_dn"], options.get(f"{kind}_filter", "")
    query = f"(&(objectClass={options[f'{kind}_objectclass']}){own})"
    try:
        found = connection.search_ext_s(tree, ldap.SCOPE_SUBTREE, query, ["1.1"], timeout=PATIENCE, sizelimit=1)
    except ldap.SIZELIMIT_EXCEEDED:
        return True
    except ldap.LDAPError as error:
        raise FaultError(f"{kind}s-tree", told(error), tree) from error
    return any(name for name, _ in found)


def ask(options: dict[str, Any]) -> dict[str, str]:
    """Return what fails with a directory, if anything does."""
    try:
        connection = connect(options)
        users = search(connection, options, "user")
        if "group_tree_dn" in options:
            search(connection, options, "group")
    except FaultError as fault:
        return fault.found
    if not users:
        return {"fault": "users", "said": "no entry fits", "subject": options["user_tree_dn"]}
    return {"fault": "", "said": "", "subject": options["url"]}


def main() -> None:
    """Ask the directory of every domain of the file."""
    domains = json.loads(Path(sys.argv[1]).read_text() or "{}")
    print(json.dumps({name: ask(one["ldap"]) for name, one in sorted(domains.items()) if "ldap" in one}))


if __name__ == "__main__":
    main()
