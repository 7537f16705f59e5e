#!/usr/bin/python
"""Documentation of the action plugin of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: kubernetes_nodes
short_description: Label and taint nodes as the plan says, and wait until they are Ready
version_added: 0.1.0
description:
  - One call for any number of nodes, from the controller with the admin kubeconfig of the site.
  - Removes its own labels and taints that the plan no longer has. Keeps all others.
  - A worker that is not Ready in time is a warning and in RV(aside); a control host is a failure. A Node of the cluster
    that is not a host of the site is a warning and in RV(leftover).
options:
  hosts:
    description: Nodes of the plan, each a C(groundup_host).
    type: list
    elements: dict
    required: true
  known:
    description: Names of all nodes of the site, if O(hosts) are only some of them.
    type: list
    elements: str
    default: []
  timeout:
    description: Seconds to wait until all of them are Ready.
    type: int
    default: 180
attributes:
  diff_mode:
    description: Shows the patch of each node.
extends_documentation_fragment:
  - groundup.cloud.attributes
  - groundup.cloud.site
"""

EXAMPLES = r"""
- name: Labels and taints
  groundup.cloud.kubernetes_nodes:
    site: "{{ groundup_site.site }}"
    hosts: "{{ ansible_play_hosts | map('extract', hostvars, 'groundup_host') }}"
  run_once: true
"""

RETURN = r"""
nodes:
  description: Names of the nodes that changed.
  type: list
  elements: str
  returned: success
aside:
  description: Nodes that are not Ready, each with host, layer, reason and remedy.
  type: list
  elements: dict
  returned: success, but in check mode
leftover:
  description: Nodes of the cluster that are not hosts of the site.
  type: list
  elements: dict
  returned: success, but in check mode
"""
