# Documentation of the action plugin of the same name, which does the work on the controller.
DOCUMENTATION = r"""
module: lab_check
short_description: Check whether this machine meets a lab's requirements
version_added: 0.1.0
description:
  - Asks for root, the programs a lab is made with, control groups, memory, disk, and networks that overlap none this
    machine has already. Names everything that is in the way, each with its field and its remedy.
  - What hosts that already run use of this machine is not asked for again.
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
