# Documentation of the action plugin of the same name, which does the work on the controller.
DOCUMENTATION = r"""
module: lab_check
short_description: Check whether this machine meets a lab's requirements
version_added: 0.1.0
description:
  - Checks for root, programs, control groups, memory, disk, and networks that overlap none of this machine's. Lists all
    that is missing, with field and remedy.
  - Resources of running hosts are not counted again.
  - Runs on the controller, reads only.
extends_documentation_fragment:
  - groundup.cloud.attributes.info
  - groundup.cloud.site.file
"""

EXAMPLES = r"""
- name: Check lab requirements
  groundup.cloud.lab_check:
    site_file: "{{ groundup_site_file }}"
"""

RETURN = r"""
hosts:
  description: Hosts of the lab.
  type: list
  elements: str
  returned: always
"""
