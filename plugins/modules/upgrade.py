# Documentation of the action plugin of the same name, which does the work on the control node.
DOCUMENTATION = r"""
module: upgrade
short_description: Judge, order and record an upgrade of Kubernetes
version_added: 0.2.0
description:
  - "Private: for the playbook C(groundup.cloud.kubernetes_upgrade)."
  - The target is C(kubernetes.version) of the site file; what runs is read from the cluster each time. What hosts do
    is in M(groundup.cloud.node).
  - Runs on the control node, with the admin kubeconfig of the site.
options:
  step:
    description:
      - V(check) returns what would be done, and fails for what stands against it. Changes nothing.
      - V(back) writes down that an upgrade is given up, which V(check) has found when the site file has its former
        version and no part runs the other one.
      - V(begin) writes into the state directory that an upgrade is open. Other layers then go by the live version.
      - V(enter) waits for a cluster that bears steps of O(kind) on O(hosts), and writes down that they begin. Of
        kubelets it cordons the nodes, and with O(evict) moves their pods away. Of add-ons it has other layers go by the
        new version. V(leave) waits until they are done, lets pods in again, and writes that down.
      - V(fail) fails with the step, the host, what is live and what to do.
      - V(verify) fails unless everything has one version, no node is cordoned by an upgrade, and none is open. V(end)
        verifies the first two, and writes down that the upgrade has ended.
    type: str
    choices: [check, back, begin, enter, leave, fail, end, verify]
    required: true
  kind:
    description: What the steps change.
    type: str
    choices: [control, add-ons, kubelet]
  hosts:
    description: Hosts of the steps. Add-ons have none.
    type: list
    elements: str
    default: []
  evict:
    description: Whether pods leave the nodes. With O(step=enter).
    type: bool
    default: false
  timeout:
    description: Seconds until the pods of a node are gone.
    type: float
    default: 600
  said:
    description: What failed. With O(step=fail).
    type: str
    default: ''
  until:
    description: Where the run ends. V(checkpoint) is before the last control host.
    type: str
    choices: [checkpoint, end]
    default: end
  seen:
    description: What hosts said of themselves, by name. With O(step=check) and O(step=back).
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
