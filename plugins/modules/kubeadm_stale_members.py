#!/usr/bin/python
"""Removes what a Kubernetes cluster remembers of hosts that are empty now."""

from __future__ import annotations

DOCUMENTATION = r"""
module: kubeadm_stale_members
short_description: Remove etcd members and Nodes of lost hosts
version_added: 0.1.0
description:
  - Runs on a control host that is a member, before other hosts join. An empty host whose name is still an etcd member
    or a Node is a replacement. Removes that member, then the Node, so that the host can join as a new one.
  - Refuses, and changes nothing, when the old member still answers, when a Node of that name is another machine that
    answers, when the remaining members have no quorum, or when etcd's quorum needs the vote of one of O(half_made),
    such as that of the only control host.
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
    description: Empty hosts about to join, each a C(groundup_host).
    type: list
    elements: dict
    required: true
  half_made:
    description:
      - Names of those of O(hosts) with an unfinished join. Their etcd may run; M(groundup.cloud.kubeadm_node) removes
        it.
    type: list
    elements: str
    default: []
attributes:
  check_mode:
    description: Lists what would be removed, or why it is refused.
  diff_mode:
    description: Shows the member and the Node.
extends_documentation_fragment: groundup.cloud.attributes
"""

EXAMPLES = r"""
- name: A control host that was lost takes its place again
  groundup.cloud.kubeadm_stale_members:
    name: control-1
    api: https://{{ hostvars['control-1'].groundup_host.address }}:{{ groundup_site.kubernetes.api_port }}
    hosts: "{{ [hostvars['control-2'].groundup_host] }}"
"""

RETURN = r"""
changes:
  description: What was removed, in order, or in check mode what would be.
  type: list
  elements: str
  returned: success
"""

from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.module_utils._base.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.module_utils._base.module import finish
from ansible_collections.groundup.cloud.plugins.module_utils._kubeadm.api import NodeApiError
from ansible_collections.groundup.cloud.plugins.module_utils._kubeadm.etcd import Etcd
from ansible_collections.groundup.cloud.plugins.module_utils._kubeadm.host import NodeHost
from ansible_collections.groundup.cloud.plugins.module_utils._kubeadm.stale_members import Empty, remove_stale_members


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
    given, changes = module.params, Changes(check=module.check_mode)
    host = NodeHost(name=given["name"])
    if not (host.paths.kubernetes / "admin.conf").exists():
        module.exit_json(**changes.result())
    try:
        hosts = empty(given)
    except KeyError as error:
        module.fail_json(msg=f"one of the option hosts lacks {error}: give the plan's hosts as they are")
    finish(module, lambda: remove(changes, host, hosts, given["api"]), host=f"host {host.name}", changes=changes)


def remove(changes: Changes, host: NodeHost, hosts: list[Empty], server: str) -> dict[str, Any]:
    """Remove what ``hosts`` left behind and return the module's result. Raises GroundupError."""
    try:
        with host.api(server) as api:
            remove_stale_members(hosts, contact=host.name, etcd=Etcd(host), api=api, changes=changes)
    except NodeApiError as error:
        raise GroundupError(
            f"stale etcd members and Nodes of empty hosts cannot be listed: {error}",
            where=f"host {host.name}, its etcd and {server}",
            why="a host that was lost and is made anew cannot join while its old etcd member or Node is there",
            remedy=f"see crictl ps -a and journalctl -u kubelet on {host.name}",
        ) from error
    return changes.result()


if __name__ == "__main__":
    main()
