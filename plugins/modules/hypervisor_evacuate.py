#!/usr/bin/python
"""Documentation of the action plugin of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: hypervisor_evacuate
short_description: Evacuate the instances of a dead hypervisor to others
version_added: 0.2.0
description:
  - Runs on the controller, as the administrator of the site's cloud. The playbook C(groundup.cloud.evacuate) calls it.
  - V(check) lists the instances to evacuate, and fails if something prevents it. Changes nothing.
  - V(close) disables the host's compute service, with a reason of its own, and forces it down in Nova. Comes before
    M(groundup.cloud.ceph_fence), so that an undrain recognises a host that is blocked.
  - V(evacuate) does what V(close) does, and has Nova rebuild each instance on another hypervisor. An instance keeps a
    disk that is in Ceph or a volume. A stopped instance stays stopped. A killed evacuation continues when it is run
    again. Prints one line per instance. An instance that Nova cannot evacuate is reported with Nova's reason, and fails
    the step after all others.
  - V(verify) fails while Nova has an instance on the host or an unfinished evacuation.
  - Before V(evacuate), the host must be off or unable to write its instances' disks. M(groundup.cloud.ceph_fence)
    ensures the latter in the site's own Ceph.
options:
  step:
    description: What to do.
    type: str
    required: true
    choices: [check, close, evacuate, verify]
  force:
    description:
      - Risks to accept.
      - V(fenced) confirms that the host is off and stays off. For a site that cannot block it in its own Ceph.
      - V(migrating) confirms that instances whose live migration the host's death interrupted do not run on its target.
      - V(disks) loses local disks. Instances whose disk is on the host start again from their image.
    type: list
    elements: str
    default: []
    choices: [disks, fenced, migrating]
  parallel:
    description: Instances to evacuate at the same time.
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
  description: Changes made or predicted, one line each.
  type: list
  elements: str
  returned: success
fence:
  description: Whether the site's own Ceph can block the host from its instances' disks.
  type: bool
  returned: success
instances:
  description: Evacuated instances, each with id, name, way, seconds and result. Empty except for step V(evacuate).
  type: list
  elements: dict
  returned: success
"""
