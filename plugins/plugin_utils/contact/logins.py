"""Logins to a host: the site's own, and those of the operator's ssh."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ...module_utils._base.run import attempt
from ..paths import state_dir

# Use only the site's key: no key of an agent, no password.
SITE_ARGS = "-o IdentitiesOnly=yes -o IdentityAgent=none -o PreferredAuthentications=publickey"

# Option of Ansible's ssh connection -> host variable that sets it.
VARIABLES = {
    "remote_user": "ansible_user",
    "private_key_file": "ansible_ssh_private_key_file",
    "ssh_common_args": "ansible_ssh_common_args",
    "ssh_extra_args": "ansible_ssh_extra_args",
    "control_path": "ansible_control_path",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Login:
    """A login: its display name, and its options of Ansible's connection."""

    name: str
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def user(self) -> str:
        return str(self.options["remote_user"])

    def variables(self) -> dict[str, Any]:
        """Return the host variables that make later tasks use this login."""
        return {VARIABLES[option]: value for option, value in self.options.items()} | {
            "ansible_become": self.user != "root"
        }


def site_login(variables: Mapping[str, Any]) -> Login:
    """Return the site's own login to the host of these ``variables``."""
    site = variables["groundup_site"]
    user = site["access"]["user"]
    return Login(
        name=f"{user} with the site's key",
        options={
            "remote_user": user,
            "private_key_file": str(site_key(site["site"])),
            "ssh_extra_args": SITE_ARGS,
            "control_path": "",  # Ansible's own
        },
    )


def site_key(site: str) -> Path:
    """Return the private key file with which the controller logs in to the hosts of ``site``."""
    return state_dir(site) / "ssh" / "id_ed25519"


def operator_logins(
    *, address: str, port: int, user: str, wished: str | None, key: str | None, password: bool
) -> list[Login]:
    """Return the operator's own logins, most likely first.

    ``user``: the site's account; ``wished`` and ``key``: -u and --private-key; ``password``: whether -k gave one.
    Without -u the account of the operator's ssh configuration is tried, too.
    """
    users = [wished] if wished else list(dict.fromkeys((user, _configured_user(address, port) or user)))
    ways = [f"key {key}"] if key else ["your ssh keys"]
    only = " -o IdentitiesOnly=yes" if key else ""  # otherwise keys of an agent use up sshd's login tries
    if password:
        ways.insert(0, "your password")
        extra = "-o PreferredAuthentications=password,keyboard-interactive,publickey"  # first: keys use up tries
    else:
        extra = "-o BatchMode=yes"  # otherwise ssh asks for a key's passphrase, per host
    return [
        Login(
            name=f"{one} with {' or '.join(ways)}",
            options={
                "remote_user": one,
                "private_key_file": key or "",
                "ssh_extra_args": extra + only,
                # A separate socket: through the operator's open connection, the site's key would seem to work.
                "control_path": f"%(directory)s/{_digest(address, port, one)}",
            },
        )
        for one in users
    ]


def _configured_user(address: str, port: int) -> str | None:
    """Return the account that the operator's ssh would use."""
    said = attempt(["ssh", "-G", "-p", str(port), "--", address], timeout=10).stdout
    return next((line.split()[1] for line in said.splitlines() if line.startswith("user ")), None)


def _digest(address: str, port: int, user: str) -> str:
    return hashlib.sha256(f"first contact {address} {port} {user}".encode()).hexdigest()[:10]
