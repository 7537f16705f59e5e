#!/usr/bin/python
"""Approve a discovered machine, or used disks: the controller's action does it."""

from __future__ import annotations

DOCUMENTATION = r"""
module: machine_approve
short_description: Approve a machine that waits for it
version_added: 0.1.0
description:
  - Lets one machine go on that waits for approval - one that was discovered and fits, or one with something on its
    disks.
  - Runs on the controller. The approval is kept by the seed's Ironic, for the machine that was seen.
options:
  name:
    description: Name of the machine, as the site file has it.
    type: str
    required: true
attributes:
  check_mode:
    description: Says which machine it is, and approves nothing.
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
