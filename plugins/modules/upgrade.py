# Documentation of the action plugin of the same name, which does the work on the controller.
DOCUMENTATION = r"""
module: upgrade
short_description: Judge, order and record an upgrade of Kubernetes
version_added: 0.2.0
description:
  - "Private: for the playbook C(groundup.cloud.kubernetes_upgrade)."
  - The target is C(kubernetes.version) of the site file; what runs is read from the cluster each time, so that a run
    that was killed goes on. What hosts do is in M(groundup.cloud.node).
  - Runs on the controller, with the admin kubeconfig of the site.
options:
  step:
    description:
      - V(check) returns what would be done, and fails for what stands against it. Changes nothing.
      - V(begin) writes into the state directory that an upgrade is open. Other layers then go by the live version.
      - V(checkpoint) fails when the cluster is not whole before its last control host, or O(until) says so.
      - V(move) has other layers go by the new version, once every API server has it.
      - V(drain) cordons O(hosts), and with O(evict) moves their pods away. V(let_in) waits until their kubelets have
        the new version, and ends that.
      - V(verify) fails unless everything has one version and no node is cordoned by an upgrade. V(end) does that, and
        writes down that the upgrade has ended.
    type: str
    choices: [check, begin, checkpoint, move, drain, let_in, verify, end]
    required: true
  seen:
    description: What hosts said of themselves, by name. With O(step=check).
    type: dict
    default: {}
  force:
    description: Reasons against the upgrade to accept, by code.
    type: list
    elements: str
    default: []
  until:
    description: Where the run ends.
    type: str
    choices: [checkpoint, end]
    default: end
  hosts:
    description: Nodes of one batch. With O(step=drain) and O(step=let_in).
    type: list
    elements: str
    default: []
  evict:
    description: Whether pods move away.
    type: bool
    default: true
  timeout:
    description: Seconds until the pods of a node are gone.
    type: float
    default: 600
attributes:
  check_mode:
    description: Changes nothing.
  diff_mode:
    description: Shows how the manifests of a control host change, rendered by kubeadm of both versions.
extends_documentation_fragment:
  - groundup.cloud.attributes
  - groundup.cloud.site.file
"""

EXAMPLES = r"""
- name: Check what an upgrade would do
  groundup.cloud.upgrade:
    site_file: "{{ groundup_site_file }}"
    step: check
    seen: "{{ upgrade_seen }}"
"""

RETURN = r"""
table:
  description: Versions by host, and the steps in order.
  type: list
  elements: str
  returned: with O(step=check)
changes:
  description: Steps that are left, one line each.
  type: list
  elements: str
  returned: with O(step=check)
open:
  description: Whether an upgrade has begun and not ended.
  type: bool
  returned: with O(step=check)
source:
  description: Version that the upgrade began with.
  type: str
  returned: with O(step=check)
back:
  description: Whether it goes back to that version.
  type: bool
  returned: with O(step=check)
target:
  description: The plan by the version of the site file, as C(groundup_site).
  type: dict
  returned: with O(step=check)
control:
  description: Control hosts whose control plane changes, in order.
  type: list
  elements: str
  returned: with O(step=check)
kubelets:
  description: Nodes whose kubelets change together, batch by batch.
  type: list
  elements: list
  returned: with O(step=check)
drains:
  description: Whether nodes are drained first.
  type: bool
  returned: with O(step=check)
"""
