#!/usr/bin/python
"""Documentation of the action plugin of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: machine_approve
short_description: Approve a machine that waits for approval
version_added: 0.1.0
description:
  - Approves one waiting machine - a discovered machine that matches the plan, or one with data on its disks.
  - Runs on the controller. Stores the approval in the seed's Ironic, for exactly the machine that was inspected.
options:
  name:
    description: Name of the machine in the site file.
    type: str
    required: true
attributes:
  check_mode:
    description: Names the machine, and approves nothing.
  diff_mode:
    description: There is none.
    support: none
extends_documentation_fragment:
  - groundup.cloud.attributes
  - groundup.cloud.site.file
"""

EXAMPLES = r"""
- name: Approve a machine
  groundup.cloud.machine_approve:
    site_file: "{{ groundup_site_file }}"
    name: worker-2
"""

RETURN = r"""
changes:
  description: What was approved, or in check mode would be.
  type: list
  elements: str
  returned: success
"""
