#!/usr/bin/python
"""First contact with hosts, step by step: examined before any change, judged together, opened for the site."""

from __future__ import annotations

DOCUMENTATION = r"""
module: preflight
short_description: Reach hosts, check them before their first change, and place the site's ssh key
version_added: 0.2.0
description:
  - "Private: for the playbook C(groundup.cloud.contact)."
options:
  step:
    description:
      - V(examine) finds a login that works, compares the host with its plan and the requirements of the layers, and
        returns every fault with its remedy. Reads only. Neither faults nor an unreachable host make it fail. Needs
        Python 3.9 or later on the host, and no other program. On a host that serves already, what this site runs there
        is not a fault.
      - V(report) prints the results of V(examine) as one table, with one line per fault and the hosts that have it.
        Compares hosts with each other to find one machine under several names, or one machine-id or name on several
        machines. Fails when a line is an error, unless all hosts with errors serve already and are in groups with
        C(max_unavailable) above 0 - these are returned, to be set aside. In a dry run an unreachable host is a warning.
      - V(access) creates the site's account with sudo rights, and puts keys into C(/etc/ssh/authorized_keys.d), which
        sshd then reads beside the users' own files. Existing logins keep working until M(groundup.cloud.host) restricts
        sshd. Runs over the operator's own login, then closes that connection and verifies the login with the site's
        key. In check mode, later tasks keep the operator's login.
    type: str
    choices: [examine, report, access]
    required: true
  accept_host_keys:
    description: Fingerprints of ssh host keys that the operator confirmed. With O(step=examine).
    type: list
    elements: str
    default: []
  wanted:
    description:
      - What is expected of the host, by the fields of C(Expected) in C(module_utils/_plan/preflight.py). What is not
        given is the plan's. With O(step=examine).
    type: dict
    default: {}
  hosts:
    description: Hosts to judge. With O(step=report).
    type: list
    elements: str
  result:
    description: Name of the variable their result of V(examine) was registered under. With O(step=report).
    type: str
  authorized_keys:
    description: Public ssh keys that may log in as the site's account. With O(step=access).
    type: list
    elements: str
attributes:
  diff_mode:
    description: Shows every file.
extends_documentation_fragment: groundup.cloud.attributes
"""

from typing import Any

from ..module_utils._base.changes import Changes
from ..module_utils._base.module import run_step
from ..module_utils._host import access
from ..module_utils._plan.preflight import Expected
from ..module_utils._preflight.checks import run
from ..module_utils._preflight.model import MachineFacts

RULES = {"required_if": [("step", "report", ("hosts", "result")), ("step", "access", ("authorized_keys",))]}


def examine(_: Changes, given: dict[str, Any]) -> dict[str, Any]:
    """Return the host's faults and facts. Raises OptionError."""
    return {"changed": False, **run(MachineFacts(), Expected.from_dict(given["wanted"]))}


def open_access(changes: Changes, given: dict[str, Any]) -> None:
    """Create the account and place its keys. Raises GroundupError."""
    access.account(changes, given["user"])
    access.keys(changes, given["user"], given["authorized_keys"])
    access.opened(changes, given["user"])


def main() -> None:
    run_step({"examine": examine, "report": None, "access": open_access})


if __name__ == "__main__":
    main()
