#!/usr/bin/python
"""Documentation of the action plugin of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: hypervisor_leftover
short_description: Find hypervisors that serve the cloud and are not in the site file
version_added: 0.2.0
description:
  - Asks Nova for its compute services and Neutron for its OVN agents. A compute service of a machine that is no
    hypervisor of the site file, and agents of a machine that is not in it at all, are named with the verbs that take
    it out of the cloud. Of the site file's own, those that a drain or a retirement disabled are a warning. Nothing is
    changed.
  - In a dry run of a site whose cloud does not answer, finds nothing.
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
  description: Hypervisors of the cloud that are not in the site file, each with host, layer, reason and remedy.
  type: list
  elements: dict
  returned: success
"""
