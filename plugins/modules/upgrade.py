# Documentation of the action plugin of the same name, which does the work on the controller.
DOCUMENTATION = r"""
module: upgrade
short_description: Judge and order an upgrade of Kubernetes
version_added: 0.2.0
description:
  - "Private: for the playbook C(groundup.cloud.kubernetes_upgrade)."
  - The target is C(kubernetes.version) of the site file; what runs is read from the cluster each time.
  - Runs on the controller, with the admin kubeconfig of the site.
options:
  step:
    description:
      - V(check) returns what would be done, and fails for what stands against it. Changes nothing.
      - V(apply) does the same, and then fails unless there is nothing to do. This version upgrades no cluster.
      - V(verify) fails unless everything has one version.
    type: str
    choices: [check, apply, verify]
    required: true
  seen:
    description: What hosts said of themselves, by name. With O(step=check) and O(step=apply).
    type: dict
    default: {}
  force:
    description: Reasons against the upgrade to accept, by code.
    type: list
    elements: str
    default: []
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
source:
  description: Version of the oldest API server.
  type: str
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
