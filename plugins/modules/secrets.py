# Documentation of the action plugin of the same name, which does the work on the controller.
DOCUMENTATION = r"""
module: secrets
short_description: Create missing secrets and certificates of a site
version_added: 0.1.0
description:
  - Generates secrets that the plan needs and the encrypted store lacks, and issues the certificates of the site's CA.
    Replaces only certificates that expire soon.
  - Fails when the store of a deployed site is missing or cannot be decrypted.
  - Runs on the controller. Returns and prints no values.
options:
  state:
    description:
      - V(present) creates what is missing.
      - V(absent) only removes the password of a removed store, if this collection wrote it.
    type: str
    choices: [present, absent]
    default: present
  given:
    description:
      - Values that are not generated, by name, such as keys of an external Ceph. They never replace existing ones.
    type: dict
    default: {}
attributes:
  diff_mode:
    description: Shows names, never values.
extends_documentation_fragment:
  - groundup.cloud.attributes
  - groundup.cloud.site.file
"""

EXAMPLES = r"""
- name: Secrets and certificates of the site
  groundup.cloud.secrets:
    site_file: "{{ groundup_site_file }}"
"""

RETURN = r"""
created:
  description: Names of secrets that were created.
  type: list
  elements: str
  returned: success, when C(state) is V(present)
issued:
  description: Certificates written now, each with the reason.
  type: dict
  returned: success, when C(state) is V(present)
  sample: {edge: close to its end}
store:
  description: Public identity of the store. Hosts record it, to refuse a run with another store.
  type: str
  returned: success, when C(state) is V(present)
"""
