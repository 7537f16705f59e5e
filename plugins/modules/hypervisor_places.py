#!/usr/bin/python
"""Documentation of the action plugin of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: hypervisor_places
short_description: Make host aggregates, availability zones and traits of the site's hypervisors
version_added: 0.2.0
description:
  - Makes an aggregate of Nova for each rack, room and label of the site's hypervisors, one for each availability zone,
    and puts the hosts into them that have joined. Gives their resource providers a trait for each.
  - Changes only aggregates whose metadata C(groundup_site) is the site's name, and traits that begin with
    C(CUSTOM_GROUNDUP_). Refuses an aggregate of somebody else that has such a name.
  - Leaves hosts in their aggregates that are in the site file no longer.
  - In a dry run takes all O(hosts) for joined; before there is a cloud, foresees all of it.
options:
  hosts:
    description: Names of the hypervisors of this run.
    type: list
    elements: str
    required: true
  verb:
    description: V(verify) changes nothing, and fails where something is not as the plan says.
    type: str
    choices: [apply, verify]
    default: apply
extends_documentation_fragment:
  - groundup.cloud.attributes
  - groundup.cloud.site.file
"""

EXAMPLES = r"""
- name: Hypervisors are in their aggregates
  groundup.cloud.hypervisor_places:
    site_file: inventories/lab/site.yml
    hosts: "{{ groups.compute }}"
"""

RETURN = r"""
changes:
  description: What was changed, a line each.
  type: list
  elements: str
  returned: when it was no verification
"""
