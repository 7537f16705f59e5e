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
      - Another one is a step of the verb, as RV(steps) names them. In check mode it predicts.
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

EXAMPLES = r"""
- name: Move its instances away
  groundup.cloud.verb:
    site_file: inventories/lab/site.yml
    verb: drain
    machine: hypervisor-2
    step: drain
  delegate_to: "{{ groundup_storage_host }}"
"""

RETURN = r"""
changes:
  description: Changes made or predicted, one line each.
  type: list
  elements: str
  returned: success
steps:
  description: Steps of the verb, in order.
  type: list
  elements: str
  returned: success
next:
  description: What an operator may do then. Empty when nothing follows.
  type: str
  returned: success
machine:
  description: Name of the machine.
  type: str
  returned: success
stays_off:
  description: Whether the machine does not serve at the end of the verb.
  type: bool
  returned: success
hypervisor:
  description: Whether the machine leaves as a hypervisor.
  type: bool
  returned: for the verb C(retire) and the step V(check)
storage:
  description: Whether the machine leaves as a storage host.
  type: bool
  returned: for the verb C(retire) and the step V(check)
evacuated:
  description: Whether an evacuation had disabled the hypervisor.
  type: bool
  returned: for the verbs C(undrain) and C(retire) and the step V(check)
fence:
  description: Whether the site's own Ceph can keep the hypervisor from its instances' disks.
  type: bool
  returned: for the verb C(evacuate) and the step V(check)
address:
  description: Address of the hypervisor as Nova knows it. Empty when another machine has it now.
  type: str
  returned: for the verb C(retire) and the step V(check)
contact:
  description: Control host that takes the machine out of OVN's databases. Empty when it is no member.
  type: str
  returned: for the verbs C(erase) and C(reprovision) and the step V(check)
instances:
  description: Instances that left, each with id, name, way, seconds and result.
  type: list
  elements: dict
  returned: for the last steps of C(drain) and C(evacuate)
"""
