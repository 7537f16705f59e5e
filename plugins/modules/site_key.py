# Documentation of the action plugin of the same name, which does the work on the controller.
DOCUMENTATION = r"""
module: site_key
short_description: Create a site's ssh key and list its hosts' keys
version_added: 0.1.0
description:
  - Creates C(ssh/id_ed25519) in the site's state directory once, and maintains its public key C(ssh/id_ed25519.pub).
  - Writes C(access.host_keys) of the site file to C(ssh/host_keys). The inventory plugin points Ansible at both.
  - Runs on the controller.
extends_documentation_fragment:
  - groundup.cloud.attributes
  - groundup.cloud.site.file
"""

EXAMPLES = r"""
- name: Make the site's ssh key
  groundup.cloud.site_key:
    site_file: "{{ groundup_site_file }}"
"""

RETURN = r"""
changes:
  description: Changes made, or predicted in check mode, one line each.
  type: list
  elements: str
  returned: always
"""
