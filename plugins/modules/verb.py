#!/usr/bin/python
"""Documentation of the action plugin of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: verb
short_description: One step of a verb of day two on one machine
version_added: 0.2.0
description:
  - "Private: for the playbooks of the same collection. The playbook C(groundup.cloud.verb) runs all steps of one."
  - Runs on the control node. Reads what there is each time, so that a killed verb goes on when it is run again.
  - A verb that concerns Ceph runs steps of module C(ceph) on the host that the task is delegated to, a storage host.
options:
  verb:
    description: Name of the verb, a module of C(plugin_utils/verbs).
    type: str
    required: true
  machine:
    description: Name of the machine. It may have left the site file.
    type: str
    required: true
  formerly:
    description: Name of the playbook that was run, if it ends with the next release.
    type: str
    default: ""
  step:
    description:
      - V(check) lists what would be done, and fails for a reason against it that O(force) does not accept.
      - V(verify) fails unless it is done. Neither changes anything.
      - Another one is a step of the verb, as C(steps) names them. In check mode it predicts.
    type: str
    required: true
  force:
    description: Codes of reasons to accept, as the refusal names them.
    type: list
    elements: str
    default: []
  parallel:
    description: Things done at the same time, such as instances that move. V(0) is the verb's own number.
    type: int
    default: 0
  timeout:
    description: Seconds for each of them. V(0) is the verb's own time.
    type: int
    default: 0
  method:
    description:
      - How C(erase) and C(reprovision) erase disks. V(metadata) erases partition tables and signatures, in seconds.
        V(full) erases every sector, with the disk's own erase command if it has one.
    type: str
    default: metadata
    choices: [metadata, full]
  seen:
    description:
      - What the playbook learnt between the steps. C(stopped), for the verb C(retire), says whether the services of the
        machine were stopped; if not, its last step waits until Nova reports nova-compute as down.
      - C(etcd) and C(ovn), for the verbs C(erase) and C(reprovision), are what other control hosts said of its
        membership. The verb is refused when none says anything.
    type: dict
    default: {}
extends_documentation_fragment:
  - groundup.cloud.attributes.lines
  - groundup.cloud.site.file
"""
