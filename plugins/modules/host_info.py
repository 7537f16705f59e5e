#!/usr/bin/python
"""Says whether a host has what every host of a site must have."""

from __future__ import annotations

DOCUMENTATION = r"""
module: host_info
short_description: Whether a host has the names, resolvers, time and CA of its site, and lets in only whom it should
version_added: 0.1.0
description:
  - Asks the host as a program on it would - the resolver for names, each DNS server, the trust store for the CA,
    systemd for the clock, sshd for the settings that count in the end.
  - Fails when a name does not resolve to its address, no DNS server answers, the CA is not trusted, or sshd lets in
    more than it should, and names them all. A DNS server that does not answer beside one that does is a warning.
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
    description: What the resolvers are asked about.
    type: str
    default: "localhost"
  user:
    description: Account the controller uses. With it, the settings of sshd are looked at.
    type: str
  ca_certificate:
    description: Certificate that must be trusted, in PEM. Empty asks for none.
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
  description: The time service, and whether the clock is synchronised; none when the machine below keeps it.
  type: dict
  returned: success
  sample: {service: chrony.service, synchronised: true, why: chrony.service is active}
silent_resolvers:
  description: DNS servers that did not answer, with the reason.
  type: list
  elements: str
  returned: success
"""

import socket
from collections.abc import Mapping
from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.module_utils._base.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.module_utils._base.module import finish
from ansible_collections.groundup.cloud.plugins.module_utils._host import access, clock, naming, trust


def unresolved(names: Mapping[str, str]) -> list[str]:
    """Return a line for each of ``names`` that the host's resolver does not give its address."""
    found = []
    for name, address in sorted(names.items()):
        try:
            addresses = sorted({str(entry[4][0]) for entry in socket.getaddrinfo(name, None)})
        except OSError as error:
            found.append(f"{name}: {error.strerror}, not {address}")
        else:
            if address not in addresses:
                found.append(f"{name}: {', '.join(addresses)}, not {address}")
    return found


def look(changes: Changes, wanted: dict[str, Any]) -> dict[str, Any]:
    """Return what the module returns. Raises GroundupError."""
    faults = unresolved(wanted["names"])
    if wanted["ca_certificate"] and not trust.trusted(wanted["ca_certificate"]):
        faults.append("the site's CA is not in the trust store")
    silent = naming.unanswering(wanted["dns_servers"], domain=wanted["domain"])
    if silent and len(silent) == len(wanted["dns_servers"]):
        faults += silent
    if wanted["user"]:
        faults += access.sshd_faults(wanted["user"])
    if faults:
        raise GroundupError(
            "; ".join(faults),
            where="the host's resolver, trust store and sshd",
            why="later layers reach each other by these names, over TLS; sshd is the way in",
            remedy="run the playbook groundup.cloud.host; for resolvers, correct hosts.dns_servers or mend them",
        )
    found = clock.state()
    changes.warnings += silent
    if found["synchronised"] is False:
        changes.warnings.append(f"the clock is not synchronised: {found['why']}")
    return {"changed": False, "clock": found, "silent_resolvers": silent}


def main() -> None:
    """Read the options, look, report."""
    module = AnsibleModule(
        argument_spec={
            "names": {"type": "dict", "default": {}},
            "dns_servers": {"type": "list", "elements": "str", "default": []},
            "domain": {"type": "str", "default": "localhost"},
            "user": {"type": "str"},
            "ca_certificate": {"type": "str", "default": ""},
        },
        supports_check_mode=True,
    )
    changes = Changes(check=True)
    finish(module, lambda: look(changes, module.params), changes=changes)


if __name__ == "__main__":
    main()
