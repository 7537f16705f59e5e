#!/usr/bin/python
"""Documentation of the action plugin of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: hypervisor_places
short_description: Create host aggregates, availability zones and traits of the site's hypervisors
version_added: 0.2.0
description:
  - Creates a Nova aggregate for each rack, room, label and availability zone of the site's hypervisors, and adds the
    hosts that have joined. Sets a trait for each on their resource providers.
  - Changes only aggregates whose metadata C(groundup_site) is the site's name, and traits that begin with
    C(CUSTOM_GROUNDUP_). Refuses a foreign aggregate with the same name.
  - Hosts that are no longer in the site file stay in their aggregates.
  - In a dry run, assumes that all O(hosts) have joined; without a cloud, everything is new.
options:
  hosts:
    description: Names of the hypervisors of this run.
    type: list
    elements: str
    required: true
  verb:
    description: V(verify) changes nothing, and fails if something differs from the plan.
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
  description: Changes, one line each.
  type: list
  elements: str
  returned: when it was no verification
"""
