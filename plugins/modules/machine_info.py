#!/usr/bin/python
"""Documentation of the action plugin of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: machine_info
short_description: Read facts of machines in Ironic
version_added: 0.2.0
description:
  - Reads one machine or all machines from the Ironic of a site's seed or of any cloud, with openstacksdk. Runs on the
    controller.
options:
  name:
    description: Name or UUID of one machine. Default is all.
    type: str
extends_documentation_fragment:
  - groundup.cloud.attributes.info
  - groundup.cloud.site.ironic
"""

EXAMPLES = r"""
- name: Read all machines of the seed
  groundup.cloud.machine_info:
    site_file: "{{ groundup_site_file }}"
  register: found

- name: Name those with a fault
  ansible.builtin.debug:
    msg: "{{ found.machines | selectattr('last_error') | map(attribute='name') }}"
"""

RETURN = r"""
machines:
  description:
    - The machines, each with the fields of RV(groundup.cloud.machine#module:machine); none when O(name) is unknown.
  type: list
  elements: dict
  returned: success
"""
