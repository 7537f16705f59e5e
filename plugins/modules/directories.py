#!/usr/bin/python
"""Documentation of the action plugin of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: directories
short_description: Verify directories of Keystone's domains, and give roles to their groups
version_added: 0.2.0
description:
  - "Private: for the playbook C(groundup.cloud.openstack) of the same collection."
  - Runs on the control node. Asks each directory (LDAP) of C(identity.domains) from within a pod of Keystone, and
    Keystone for users of the domain. Of a directory that does not answer it tells which step fails (name, connection,
    TLS, bind or base DN), and the remedy.
options:
  step:
    description:
      - V(apply) verifies, then gives the roles of the site file to groups, and makes projects that are missing. It
        takes back roles that an earlier run gave and the site file no longer has. Roles and projects of others stay.
      - V(verify) changes nothing.
    type: str
    choices: [apply, verify]
    required: true
extends_documentation_fragment:
  - groundup.cloud.attributes
  - groundup.cloud.site.file
"""

EXAMPLES = r"""
- name: Give roles to groups of directories
  groundup.cloud.directories:
    step: apply
    site_file: inventories/rack/site.yml
"""

RETURN = r"""
changes:
  description: Changes, one line each.
  type: list
  elements: str
  returned: with O(step=apply)
"""
