#!/usr/bin/python
"""Stop what serves the cloud on a hypervisor that leaves, so that it does not come back by itself."""

from __future__ import annotations

DOCUMENTATION = r"""
module: hypervisor_leave
short_description: Stop what serves the cloud on a hypervisor that leaves
version_added: 0.2.0
description:
  - Runs on the host. Refuses, before it changes anything, a host of another site and one whose libvirt has domains.
  - Stops and disables nova-compute, Neutron's OVN agent and ovn-controller, has Open vSwitch forget where OVN's
    southbound database is, and notes that the host was retired. Packages, configuration, certificates, libvirt and
    Open vSwitch stay. M(groundup.cloud.hypervisor_node) brings all of it back.
  - When libvirt does not answer, warns that its domains are not known.
options:
  force:
    description: What is accepted. C(domains), libvirt has domains; they stay as they are, and running ones run on.
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
  description: What was done, or in check mode would be, a line each.
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
