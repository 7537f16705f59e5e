#!/usr/bin/python
"""Verify the baseline of a host."""

from __future__ import annotations

DOCUMENTATION = r"""
module: host_info
short_description: Verify names, resolvers, time, CA, ssh access and age of packages of a host
version_added: 0.1.0
description:
  - Tests as a program on the host would - the resolver for names, each DNS server, the trust store for the CA, systemd
    for the clock, sshd for its effective settings.
  - Fails with all faults when a name resolves to another address, no DNS server answers, the CA is untrusted, or sshd
    allows more than it should. Warns when only some DNS servers answer, and when packages are old.
options:
  names:
    description: Names that must resolve, each with its address.
    type: dict
    default: {}
  dns_servers:
    description: Resolvers that must answer.
    type: list
    elements: str
    default: []
  domain:
    description: Domain to ask the resolvers for.
    type: str
    default: "localhost"
  sysctl:
    description: Kernel parameters that no other file may set otherwise at the next boot.
    type: dict
    default: {}
  user:
    description: Account the controller logs in as. Without it sshd is not checked.
    type: str
  updates:
    description: Who changes installed packages, as in M(groundup.cloud.host_baseline).
    type: str
    choices: [site, debian]
    default: site
  ca_certificate:
    description: Certificate that must be trusted, in PEM. Empty skips the check.
    type: str
    default: ""
extends_documentation_fragment: groundup.cloud.attributes.info
"""

EXAMPLES = r"""
- name: Host
  groundup.cloud.host_info:
    names: {identity.lab.test: 10.90.0.2}
"""

RETURN = r"""
clock:
  description:
    - The time service, and whether the clock is synchronised. A container has none; its machine keeps the time.
  type: dict
  returned: success
  sample: {service: chrony.service, synchronised: true, why: chrony.service is active}
packages:
  description:
    - How old the packages are. C(lists) is the date of the newest list of packages on the host, C(changed) when a
      package last changed, C(outdated) what the sources offer newer.
  type: dict
  returned: success
  sample:
    updates: site
    lists: "2026-11-26 06:12Z"
    changed: "2026-11-02 09:30Z"
    outdated: [{package: openssl, installed: 3.0.16-1, offered: 3.0.17-1, security: true}]
    restart_needed: false
silent_resolvers:
  description: DNS servers that did not answer, with the reason.
  type: list
  elements: str
  returned: success
"""

from typing import Any

from ..module_utils._base.changes import Changes
from ..module_utils._base.module import run_module
from ..module_utils._host import package_age, updates
from ..module_utils._host.verification import verify


def work(changes: Changes, wanted: dict[str, Any]) -> dict[str, Any]:
    """Verify the host, and tell how old its packages are. Raises GroundupError."""
    found = verify(changes, wanted)
    age, warnings = package_age.read(wanted["updates"])
    changes.warnings += warnings
    return {**found, "packages": age}


def main() -> None:
    """Read the options, verify, report."""
    run_module(
        {
            "names": {"type": "dict", "default": {}},
            "dns_servers": {"type": "list", "elements": "str", "default": []},
            "domain": {"type": "str", "default": "localhost"},
            "sysctl": {"type": "dict", "default": {}},
            "user": {"type": "str"},
            "updates": updates.OPTION,
            "ca_certificate": {"type": "str", "default": ""},
        },
        work,
    )


if __name__ == "__main__":
    main()
