#!/usr/bin/python
"""Stop the cloud's services on a hypervisor that leaves, so that it does not rejoin by itself."""

from __future__ import annotations

DOCUMENTATION = r"""
module: hypervisor_leave
short_description: Stop the cloud's services on a hypervisor that leaves
version_added: 0.2.0
description:
  - Runs on the host. Before any change, refuses a host of another site and a host whose libvirt has domains.
  - Stops and disables nova-compute, Neutron's OVN agent and ovn-controller, removes the address of OVN's southbound
    database from Open vSwitch, and records that the host was retired. Keeps packages, configuration, certificates,
    libvirt and Open vSwitch. M(groundup.cloud.hypervisor_node) reverts all of it.
  - Refuses as well when libvirt does not answer, because its domains are unknown then.
options:
  force:
    description: Risks to accept. V(domains) leaves libvirt's domains, known or not, as they are.
    type: list
    elements: str
    default: []
    choices: [allocations, domains]
extends_documentation_fragment:
  - groundup.cloud.attributes
  - groundup.cloud.site
  - groundup.cloud.host
"""

EXAMPLES = r"""
- name: Stop what serves the cloud
  groundup.cloud.hypervisor_leave:
    site: lab
    name: hypervisor-2
  delegate_to: hypervisor-2
"""

RETURN = r"""
changes:
  description: Changes made, or predicted in check mode, one line each.
  type: list
  elements: str
  returned: success
"""


from ..module_utils._base.module import run_module
from ..module_utils._hypervisor.leave import leave


def main() -> None:
    """Run the module."""
    run_module(
        {
            "site": {"type": "str", "required": True},
            "name": {"type": "str", "required": True},
            "force": {"type": "list", "elements": "str", "default": [], "choices": ["allocations", "domains"]},
        },
        lambda changes, given: leave(changes, **given),
    )


if __name__ == "__main__":
    main()
