#!/usr/bin/python
"""Documentation of the action plugin of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: hypervisor_joined
short_description: Wait until hypervisors have joined the cloud
version_added: 0.2.0
description:
  - Asks Nova, Placement and Neutron at their public names, as the administrator, until each of O(hosts) has an OVN
    chassis with live agents, a compute service that is up, a cell, and a resource provider with inventory.
  - Nova itself maps new hosts to their cell, every C(scheduler.discover_hosts_in_cells_interval).
options:
  hosts:
    description: Names of the hypervisors.
    type: list
    elements: str
    required: true
  timeout:
    description: Seconds to wait.
    type: int
    default: 180
extends_documentation_fragment:
  - groundup.cloud.attributes.info
  - groundup.cloud.site.file
"""

EXAMPLES = r"""
- name: Hypervisors have joined
  groundup.cloud.hypervisor_joined:
    site_file: inventories/lab/site.yml
    hosts: "{{ groups.compute }}"
"""

RETURN = r"""
joined:
  description: Hosts that have joined.
  type: list
  elements: str
  returned: always
aside:
  description: Hosts that have not joined, each with host, layer, reason and remedy.
  type: list
  elements: dict
  returned: always
"""
