#!/usr/bin/python
"""Documentation of the action plugin of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: machine_erase
short_description: Take a machine from power-off out of service, and erase its disks
version_added: 0.1.0
description:
  - Runs on the controller. The playbooks C(groundup.cloud.erase) and C(groundup.cloud.reprovision) call it for each
    step.
  - V(check) names what is done, and fails while the machine serves as a node, hypervisor or storage host, or O(force)
    lacks a reason.
  - V(erase) ends its installation, has its disks erased by its ramdisk, and has the seed's Ironic forget it unless
    O(stays). Killed, it is run again and goes on. V(verify) asks Ironic.
  - A record of each erasure is written below C(metal/erasures) in the site's state directory.
options:
  step:
    description: What to do.
    type: str
    required: true
    choices: [check, erase, verify]
  method:
    description:
      - V(metadata) erases partition tables and signatures, in seconds. V(full) erases every sector, by the disk's own
        command where it has one.
    type: str
    default: metadata
    choices: [metadata, full]
  stays:
    description: Whether Ironic goes on knowing it, because it is installed again.
    type: bool
    default: false
  force:
    description:
      - What is accepted. V(disks), everything on its disks is lost. V(dead), its management controller does not
        answer - it is forgotten, and its disks are not erased. V(osds), it is a storage host of the site file, whose
        OSDs and monitor are lost with its disks.
    type: list
    elements: str
    default: []
    choices: [disks, dead, osds]
  timeout:
    description: Seconds it may stay at one step of its way.
    type: int
    default: 3600
attributes:
  check_mode:
    description: Steps V(erase) and V(verify) are skipped by their playbooks; V(check) changes nothing.
extends_documentation_fragment:
  - groundup.cloud.attributes.lines
  - groundup.cloud.host.leaving
  - groundup.cloud.site.file
"""

EXAMPLES = r"""
- name: Check what is erased
  groundup.cloud.machine_erase:
    site_file: "{{ groundup_site_file }}"
    name: worker-2
    step: check
    force: [disks]
"""

RETURN = r"""
changes:
  description: What is done or was done, a line each.
  type: list
  elements: str
  returned: success
record:
  description: File of the erasure's record. Empty when there is none.
  type: str
  returned: success, step V(erase)
"""
