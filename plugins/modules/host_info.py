#!/usr/bin/python
"""Says whether a host has what every host of a site must have."""

from __future__ import annotations

DOCUMENTATION = r"""
module: host_info
short_description: Verify names, resolvers, time, CA and ssh access of a host
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

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.module_utils._base.module import finish
from ansible_collections.groundup.cloud.plugins.module_utils._host.verification import verify


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
    finish(module, lambda: verify(changes, module.params), changes=changes)


if __name__ == "__main__":
    main()
