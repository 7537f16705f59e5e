#!/usr/bin/python
"""Documentation of the action plugin of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: hypervisor_evacuate
short_description: Bring the instances of a dead hypervisor back on others
version_added: 0.2.0
description:
  - Runs on the controller, as the administrator of the site's cloud. The playbook C(groundup.cloud.evacuate) calls it.
  - V(check) names what comes back, and fails while something stands against it. Changes nothing.
  - V(evacuate) disables the host's compute service, with a reason of its own, tells Nova that the host is dead, and has
    Nova rebuild each instance on another hypervisor, on the disk it had where that is in Ceph or a volume. One that
    was shut off stays so. An evacuation that was killed goes on when it is run again. A line for each instance; one
    that Nova does not evacuate is named with Nova's own reason, and fails the step after all others.
  - V(verify) fails while Nova has an instance on the host, or an evacuation that has not ended.
  - The host must be off, or kept from its instances' disks, before V(evacuate). M(groundup.cloud.ceph_fence) does the
    second in a Ceph of the site's own.
options:
  step:
    description: What to do.
    type: str
    required: true
    choices: [check, evacuate, verify]
  force:
    description:
      - What is accepted.
      - V(fenced), the host is off and stays off. For a site that cannot make sure of it by its own Ceph.
      - V(disks), instances whose disk is on the host start from their image, without what they had written.
    type: list
    elements: str
    default: []
    choices: [disks, fenced]
  parallel:
    description: Instances that are on their way at once.
    type: int
    default: 4
  timeout:
    description: Seconds for each instance.
    type: int
    default: 1800
extends_documentation_fragment:
  - groundup.cloud.attributes.lines
  - groundup.cloud.host.leaving
  - groundup.cloud.site.file
"""

EXAMPLES = r"""
- name: Bring its instances back
  groundup.cloud.hypervisor_evacuate:
    site_file: inventories/lab/site.yml
    name: hypervisor-2
    step: evacuate
"""

RETURN = r"""
changes:
  description: What was done, or would be, a line each.
  type: list
  elements: str
  returned: success
fence:
  description: Whether the site's own Ceph can keep the host from its instances' disks.
  type: bool
  returned: success
instances:
  description: Instances that came back, each with id, name, way, seconds and result. Empty but for step V(evacuate).
  type: list
  elements: dict
  returned: success
"""
