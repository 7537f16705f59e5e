#!/usr/bin/python
"""Documentation of the action plugin of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: hypervisor_leftover
short_description: Find hypervisors in the cloud that are not in the site file
version_added: 0.2.0
description:
  - Asks Nova for its compute services and Neutron for its OVN agents. Reports a compute service on a machine that is
    not a hypervisor in the site file, and agents on a machine that is not in the site file, with the verbs that take
    the machine out of the cloud. Warns of hypervisors in the site file that a drain or a retirement disabled. Changes
    nothing.
  - In a dry run, finds nothing if the cloud does not answer.
options:
  hypervisors:
    description: Hypervisors of the site file.
    type: list
    elements: str
    required: true
  machines:
    description: All machines of the site file.
    type: list
    elements: str
    required: true
extends_documentation_fragment:
  - groundup.cloud.attributes.info
  - groundup.cloud.site.file
"""

EXAMPLES = r"""
- name: Find hypervisors that are not in the site file
  groundup.cloud.hypervisor_leftover:
    site_file: inventories/lab/site.yml
    hypervisors: "{{ groups.compute | default([]) }}"
    machines: "{{ groups.all }}"
"""

RETURN = r"""
leftover:
  description: Hypervisors that are not in the site file, each with host, layer, reason and remedy.
  type: list
  elements: dict
  returned: success
"""
