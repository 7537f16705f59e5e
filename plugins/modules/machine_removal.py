#!/usr/bin/python
"""Documentation of the action plugin of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: machine_removal
short_description: Remove a machine from the cluster, step by step
version_added: 0.1.0
description:
  - Runs on the controller, with the admin kubeconfig of the site. The playbook C(groundup.cloud.remove) calls it for
    each step and M(groundup.cloud.node) between them.
  - V(check) lists the pods and the volumes on the machine's disk that are removed with it, and fails if there is a risk
    that O(force) does not accept. Changes nothing.
  - V(drain) cordons the node and evicts its pods. It respects PodDisruptionBudgets, and names a pod that blocks.
  - V(delete) deletes the Node, and claims and volumes on its disk. V(verify) waits until all of it is gone from the
    cluster.
options:
  step:
    description: What to do.
    type: str
    required: true
    choices: [check, drain, delete, verify]
  force:
    description:
      - Risks to accept. V(local-volumes) loses data on its disk. V(bare-pods) deletes pods that no controller
        recreates. V(other-volumes), for M(groundup.cloud.node), sets aside data of volumes that the cluster
        does not know. V(last-node) leaves no other node for its pods. V(control-count) leaves an even or too small
        number of control hosts.
    type: list
    elements: str
    default: []
    choices: [local-volumes, other-volumes, bare-pods, last-node, control-count]
  roles:
    description: Roles of the machine in the site file; empty when it is no longer there.
    type: list
    elements: str
    default: []
  control:
    description: Control hosts of the site file.
    type: list
    elements: str
    default: []
  timeout:
    description: Seconds to wait for its pods to terminate.
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
  description:
    - Whether etcd may have a member on it, because it is a control host or unknown to both cluster and site file.
  type: bool
  returned: success, step V(check)
address:
  description: Its address in the cluster. Empty when another machine has this address now.
  type: str
  returned: success, step V(check)
directories:
  description: Directories of its volumes on its disk, whose loss was accepted.
  type: list
  elements: str
  returned: success, step V(check)
contact:
  description: A control host that stays, preferably a Ready one.
  type: str
  returned: success, step V(check)
"""
