# Documentation of the action plugin of the same name, which does the work on the controller.
DOCUMENTATION = r"""
module: openstack_upgrade
short_description: Look at a cloud before a step of OpenStack's release
version_added: 0.2.0
description:
  - "Private: for the playbook C(groundup.cloud.openstack_upgrade_check)."
  - Says whether the step is allowed, which services are too old for it, which records are of hosts that are gone,
    whether Nova's data were migrated, which queues are not replicated, what is not ready, and how old the newest
    backup set is.
  - Reads only. Runs on the controller. Its output contains no secrets.
options:
  release:
    description: OpenStack release to go to. Default is the site file's.
    type: str
    default: ""
  backup_hours:
    description: Age in hours at which the newest backup set is too old.
    type: float
    default: 1
  page:
    description: File that gets the page for reviewers, too.
    type: path
extends_documentation_fragment:
  - groundup.cloud.attributes.info
  - groundup.cloud.site.file
"""

EXAMPLES = r"""
- name: Look at the cloud before the next release
  groundup.cloud.openstack_upgrade:
    site_file: "{{ groundup_site_file }}"
    release: "2026.2"
"""

RETURN = r"""
from:
  description: OpenStack releases that run, by the tags of images.
  type: list
  elements: str
  returned: always
to:
  description: The release that was asked about.
  type: str
  returned: always
state:
  description: The worst state of all rows.
  type: str
  returned: always
parts:
  description: What was looked at, each with name, state, what and remedy.
  type: dict
  returned: always
"""
