#!/usr/bin/python
"""Documentation of the action plugin of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: failure
short_description: Dead hypervisors, and whom they concern
version_added: 0.2.0
description:
  - "Private: for the playbook C(groundup.cloud.hypervisor_failure) of the same collection. Runs on the control
    node; its tasks are delegated to a storage host, which is asked about Ceph."
  - Reads only, but for O(step=start). A hypervisor is dead when Nova hears no heartbeat, ssh reaches nobody, OVN's
    agents are not alive and Ceph has none of its disks open. One that all of them agree on, and no other host with it,
    may be evacuated by the site's policy.
options:
  step:
    description:
      - V(look) prints the hypervisors that Nova does not hear, their instances by project, and whom to tell.
      - V(judge) fails when O(found) has one.
      - V(start) starts instances whose QEMU ended by itself, by what libvirt said of each hypervisor's domains.
    type: str
    choices: [look, judge, start]
    required: true
  found:
    description: What V(look) found. With O(step=judge).
    type: dict
    default: {}
  result:
    description: Name of the variable with what a login to each host said; with O(step=start), what virsh said there.
    type: str
    default: failure_said
  output:
    description: What V(look) prints.
    type: str
    choices: [table, json]
    default: table
  path:
    description: File that gets the JSON document, too, for its owner alone. Not in a dry run.
    type: path
extends_documentation_fragment:
  - groundup.cloud.attributes.lines
  - groundup.cloud.site.file
"""

RETURN = r"""
failure:
  description:
    - The document that O(output=json) prints. C(site), C(time) in UTC, C(state) (C(clean) or C(failed)), C(summary);
      C(hypervisors) with C(host), C(since), C(state) (C(evacuates), C(told), C(evacuated)), C(witnesses), C(against),
      C(remedy) and C(projects), each with its C(people) and C(instances).
  type: dict
  returned: with O(step=look)
"""
