#!/usr/bin/python
"""Documentation of the action plugin of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: hypervisor_retire
short_description: Remove an empty hypervisor from the cloud, step by step
version_added: 0.2.0
description:
  - Runs on the controller, as the administrator of the site's cloud. The playbook C(groundup.cloud.retire) calls it for
    each step and M(groundup.cloud.hypervisor_leave) between them.
  - V(check) lists what is removed with the host, and fails unless the host is empty, with no instance or migration in
    Nova and no allocation in Placement. Changes nothing. V(close) and V(remove) repeat this check first.
  - V(close) disables its compute service, with a reason of its own, and checks again.
  - V(remove) removes it from its aggregates and deletes its compute service, its resource provider and its agents. With
    the controller agent, Neutron deletes the OVN chassis. V(verify) fails while the cloud has any of it.
  - Of instances that were evacuated from a host that never came back, V(remove) deletes the allocations on its
    resource provider. Those on other providers stay.
options:
  step:
    description: What to do.
    type: str
    required: true
    choices: [check, close, remove, verify]
  force:
    description:
      - Risks to accept. V(allocations) deletes Placement's allocations that Nova does not know. V(domains) is for
        M(groundup.cloud.hypervisor_leave).
    type: list
    elements: str
    default: []
    choices: [allocations, domains]
  roles:
    description:
      - Roles of the machine in the site file; empty when it is no longer there. V(check) refuses a machine that has no
        role C(hypervisor) and is unknown to the cloud.
    type: list
    elements: str
    default: []
  stopped:
    description: Whether its services were stopped. If not, V(remove) waits until Nova reports nova-compute as down.
    type: bool
    default: false
  timeout:
    description: Seconds to wait for Nova, and for Neutron to delete the agents.
    type: int
    default: 180
extends_documentation_fragment:
  - groundup.cloud.attributes.lines
  - groundup.cloud.host.leaving
  - groundup.cloud.host.others
  - groundup.cloud.site.file
"""

EXAMPLES = r"""
- name: Check what leaves the cloud
  groundup.cloud.hypervisor_retire:
    site_file: inventories/lab/site.yml
    name: hypervisor-2
    step: check
"""

RETURN = r"""
changes:
  description: What leaves or has left, one line each.
  type: list
  elements: str
  returned: success
address:
  description: Its address in Nova. Empty when another machine has this address now, or Nova does not know the host.
  type: str
  returned: success, step V(check)
evacuated:
  description: Whether it is forced down in Nova, as after an evacuation.
  type: bool
  returned: success, step V(check)
"""
