#!/usr/bin/python
"""Documentation of the action plugin of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: machine_removal
short_description: Take a machine out of the cluster, step by step
version_added: 0.1.0
description:
  - Runs on the controller, with the admin kubeconfig of the site. The playbook C(groundup.cloud.remove) calls it for
    each step and M(groundup.cloud.kubeadm_leave) between them.
  - V(check) names what leaves with the machine, pods and volumes on its disk, and fails while something stands against
    it that O(force) does not accept. Changes nothing.
  - V(drain) takes no new pods on the node and evicts those it has. PodDisruptionBudgets are respected; a pod that
    blocks is named.
  - V(delete) deletes the Node, and claims and volumes on its disk. V(verify) waits until the cluster has nothing left
    of it.
options:
  step:
    description: What to do.
    type: str
    required: true
    choices: [check, drain, delete, verify]
  force:
    description:
      - What is accepted. C(local-volumes), data on its disk are lost. C(bare-pods), pods that no controller makes
        again. C(last-node), no other node takes its pods. C(control-count), an even or too small number of control
        hosts stays.
    type: list
    elements: str
    default: []
    choices: [local-volumes, bare-pods, last-node, control-count]
  roles:
    description: Roles of the machine in the site file, none when it has left it.
    type: list
    elements: str
    default: []
  control:
    description: Control hosts of the site file.
    type: list
    elements: str
    default: []
  timeout:
    description: Seconds its pods have to leave it.
    type: int
    default: 600
extends_documentation_fragment:
  - groundup.cloud.attributes.lines
  - groundup.cloud.host.leaving
  - groundup.cloud.host.others
  - groundup.cloud.site
"""

EXAMPLES = r"""
- name: Check what leaves with the machine
  groundup.cloud.machine_removal:
    site: lab
    name: worker-2
    step: check
    control: "{{ groups.control }}"
"""

RETURN = r"""
changes:
  description: What leaves or has left, one line each.
  type: list
  elements: str
  returned: success
control:
  description: Whether etcd may have a member of it. It is a control host, or neither cluster nor site file know it.
  type: bool
  returned: success, step V(check)
address:
  description: Its address as the cluster knows it. Empty when another machine has it now.
  type: str
  returned: success, step V(check)
contact:
  description: A control host of the site that stays, a Ready one first.
  type: str
  returned: success, step V(check)
"""
