#!/usr/bin/python
"""Documentation of the action plugin of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: hypervisor_retire
short_description: Take an empty hypervisor out of the cloud, step by step
version_added: 0.2.0
description:
  - Runs on the controller, as the administrator of the site's cloud. The playbook C(groundup.cloud.retire) calls it for
    each step and M(groundup.cloud.hypervisor_leave) between them.
  - V(check) names what leaves the cloud with the host, and fails unless it is empty. Nova has no instance and no
    migration of it, Placement no allocation. Changes nothing. Every other step but V(verify) asks the same first.
  - V(close) disables its compute service, with a reason of its own, and asks again.
  - V(remove) takes it out of its aggregates and deletes its compute service, its resource provider and its agents; with
    its controller agent Neutron deletes the chassis of OVN. V(verify) fails while the cloud has any of it.
options:
  step:
    description: What to do.
    type: str
    required: true
    choices: [check, close, remove, verify]
  force:
    description:
      - What is accepted. C(allocations), Placement's allocations of what Nova does not know go. C(domains) is for
        M(groundup.cloud.hypervisor_leave).
    type: list
    elements: str
    default: []
    choices: [allocations, domains]
  roles:
    description:
      - Roles of the machine in the site file, none when it has left it. V(check) refuses one without C(hypervisor) that
        the cloud does not know.
    type: list
    elements: str
    default: []
  stopped:
    description: Whether its services were stopped. Else V(remove) waits until Nova says that nova-compute is down.
    type: bool
    default: false
  timeout:
    description: Seconds to wait for Nova, and for Neutron to let its agents go.
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
  description: What leaves or has left, a line each.
  type: list
  elements: str
  returned: success
address:
  description: Its address as Nova knows it. Empty when another machine has it now, or Nova forgot the host.
  type: str
  returned: success, step V(check)
evacuated:
  description: Whether Nova takes it for dead by somebody's word, as after an evacuation.
  type: bool
  returned: success, step V(check)
"""
