#!/usr/bin/python
"""What a Kubernetes cluster remembers of hosts that are empty now."""

from __future__ import annotations

DOCUMENTATION = r"""
module: kubeadm_forget
short_description: Remove the etcd member and the Node of hosts that were lost and are made anew
version_added: 0.1.0
description:
  - Runs on a control host that is a member, before other hosts join. A host of the plan that is empty while the cluster
    knows an etcd member or a Node of its name was lost and is replaced. Its member is removed, then its Node, so that
    it can join as a new one.
  - Refuses when the old member still answers, when a Node of that name is another machine that answers, or when the
    members that are left have no quorum. Then nothing is changed. The same when one of O(half_made) has a vote in etcd
    that the others cannot do without, as that of the only control host.
  - Does nothing on a host without an admin kubeconfig.
options:
  name:
    description: Name of the node it runs on, for messages.
    type: str
    required: true
  api:
    description: URL of the host's own API server.
    type: str
    required: true
  hosts:
    description: The plan's hosts that are empty and are about to join, each a C(groundup_host).
    type: list
    elements: dict
    required: true
  half_made:
    description:
      - Names of those of O(hosts) that hold a join which did not come to its end. Their own etcd may run, and
        M(groundup.cloud.kubeadm_node) has it leave.
    type: list
    elements: str
    default: []
attributes:
  check_mode:
    description: Says what would be removed, or why it is refused.
  diff_mode:
    description: Shows the member and the Node.
extends_documentation_fragment: groundup.cloud.attributes
"""

EXAMPLES = r"""
- name: A control host that was lost takes its place again
  groundup.cloud.kubeadm_forget:
    name: control-1
    api: https://{{ hostvars['control-1'].groundup_host.address }}:{{ groundup_site.kubernetes.api_port }}
    hosts: "{{ [hostvars['control-2'].groundup_host] }}"
"""

RETURN = r"""
actions:
  description: What was removed, in order, or in check mode what would be.
  type: list
  elements: str
  returned: success
"""

from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.groundup.cloud.plugins.module_utils._kubeadm.access import admin
from ansible_collections.groundup.cloud.plugins.module_utils._kubeadm.api import ApiError
from ansible_collections.groundup.cloud.plugins.module_utils._kubeadm.errors import NodeError
from ansible_collections.groundup.cloud.plugins.module_utils._kubeadm.etcd import Etcd, listens
from ansible_collections.groundup.cloud.plugins.module_utils._kubeadm.forget import Empty, forget
from ansible_collections.groundup.cloud.plugins.module_utils._kubeadm.outcome import Outcome
from ansible_collections.groundup.cloud.plugins.module_utils._kubeadm.spec import Paths


def empty(parameters: dict[str, Any]) -> list[Empty]:
    """Turn the module's parameters into hosts. Raises KeyError for a field that one of ``hosts`` lacks."""
    return [
        Empty(
            name=host["name"],
            address=host["address"],
            control="control" in host["roles"],
            half_made=host["name"] in parameters["half_made"],
        )
        for host in parameters["hosts"]
    ]


def main() -> None:
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            "name": {"type": "str", "required": True},
            "api": {"type": "str", "required": True},
            "hosts": {"type": "list", "elements": "dict", "required": True},
            "half_made": {"type": "list", "elements": "str", "default": []},
        },
        supports_check_mode=True,
    )
    given, paths, outcome = module.params, Paths(), Outcome()
    if not (paths.kubernetes / "admin.conf").exists():
        module.exit_json(changed=False, actions=[])
    try:
        hosts = empty(given)
    except KeyError as error:
        module.fail_json(msg=f"one of the option hosts lacks {error}: give the plan's hosts as they are")
    try:
        with admin(paths, server=given["api"], host=given["name"]) as api:
            forget(
                hosts,
                contact=given["name"],
                etcd=Etcd(paths, host=given["name"]),
                api=api,
                listens=listens,
                outcome=outcome,
                check=module.check_mode,
            )
    except ApiError as error:
        silent = NodeError(
            f"what the cluster remembers of empty hosts cannot be seen: {error}",
            where=f"host {given['name']}, its etcd and {given['api']}",
            why="a host that was lost and is made anew cannot join while its old etcd member or Node is there",
            remedy=f"see crictl ps -a and journalctl -u kubelet on {given['name']}",
        )
        module.fail_json(msg=str(silent))
    except NodeError as error:
        module.fail_json(msg=str(error))
    module.exit_json(changed=bool(outcome.actions), actions=outcome.actions, diff=outcome.diff)


if __name__ == "__main__":
    main()
