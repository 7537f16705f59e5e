#!/usr/bin/python
"""Let the controller log in with the site's ssh key."""

from __future__ import annotations

DOCUMENTATION = r"""
module: host_access
short_description: Let the controller log in with the site's ssh key
version_added: 0.1.0
description:
  - Creates the site's account with sudo rights, and puts keys into C(/etc/ssh/authorized_keys.d), which sshd then reads
    beside the users' own files. Existing logins keep working until M(groundup.cloud.host) restricts sshd.
  - Runs over the operator's own login, then closes that connection and verifies the login with the site's key. In check
    mode, later tasks keep the operator's login.
options:
  user:
    description: Account the controller logs in as, with sudo.
    type: str
    default: root
  authorized_keys:
    description: Public ssh keys that may log in as O(user).
    type: list
    elements: str
    required: true
attributes:
  diff_mode:
    description: Shows every file.
extends_documentation_fragment: groundup.cloud.attributes
"""

EXAMPLES = r"""
- name: Place the site's key
  groundup.cloud.host_access:
    user: ops
    authorized_keys: ["{{ lookup('groundup.cloud.state_file', 'ssh/id_ed25519.pub') }}"]
"""

RETURN = r"""
changes:
  description: Changes made, or predicted in check mode, one line each.
  type: list
  elements: str
  returned: success
"""

from ..module_utils._base.changes import Changes
from ..module_utils._base.module import run_module
from ..module_utils._host import access


def main() -> None:
    """Read the options, converge, report."""
    run_module(
        {
            "user": {"type": "str", "default": "root"},
            "authorized_keys": {"type": "list", "elements": "str", "required": True, "no_log": False},
        },
        lambda changes, given: converge(changes, **given),
    )


def converge(changes: Changes, *, user: str, authorized_keys: list[str]) -> dict[str, object]:
    """Create the account, place its keys and return the module's result. Raises GroundupError."""
    access.account(changes, user)
    access.keys(changes, user, authorized_keys)
    access.opened(changes, user)
    return changes.result()


if __name__ == "__main__":
    main()
