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
  - V(check) lists the steps, and fails while the machine serves as a node, hypervisor or storage host, or O(force)
    lacks a reason.
  - V(erase) undeploys the machine, has its ramdisk erase its disks, and deletes it from the seed's Ironic unless
    O(stays). A killed run continues when it is run again. V(verify) checks the result in Ironic.
  - A record of each erasure is written below C(metal/erasures) in the site's state directory.
options:
  step:
    description: What to do.
    type: str
    required: true
    choices: [check, erase, verify]
  method:
    description:
      - V(metadata) erases partition tables and signatures, in seconds. V(full) erases every sector, with the disk's own
        erase command if it has one.
    type: str
    default: metadata
    choices: [metadata, full]
  stays:
    description: Whether it stays in Ironic, because it is reinstalled.
    type: bool
    default: false
  force:
    description:
      - Risks to accept. V(disks) loses everything on its disks. V(dead) deletes a machine whose management controller
        does not answer from Ironic, without erasing its disks. V(osds) loses the OSDs and monitor of a storage host of
        the site file with its disks. V(cluster-silent) and V(cloud-silent) erase it although the Kubernetes API, or
        Nova, does not say whether it serves; V(controller-silent) although its management controller does not say whose
        it is.
    type: list
    elements: str
    default: []
    choices: [disks, dead, osds, cluster-silent, cloud-silent, controller-silent]
  timeout:
    description: Seconds it may stay in one state.
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
  description: Steps planned or done, one line each.
  type: list
  elements: str
  returned: success
record:
  description: Path of the erasure's record. Empty when there is none.
  type: str
  returned: success, step V(erase)
"""
