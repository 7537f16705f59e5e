# Documentation of the action plugin of the same name, which does the work on the controller.
DOCUMENTATION = r"""
module: lab_check
short_description: Check whether this machine meets a lab's requirements
version_added: 0.1.0
description:
  - Checks root, programs, control groups, memory, disk, and that no network overlaps one of this machine's. Lists every
    missing requirement with field and remedy.
  - Counts resources of running hosts only once.
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
