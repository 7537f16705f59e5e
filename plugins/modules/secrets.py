# Documentation of the action plugin of the same name, which does the work on the controller.
DOCUMENTATION = r"""
module: secrets
short_description: Make missing secrets and certificates of a site
version_added: 0.1.0
description:
  - Generates values for names that the plan needs and the encrypted store lacks, and issues the certificates of the
    site's CA. Replaces nothing but certificates close to their end.
  - Fails when the store of a deployed site is missing, or does not open.
  - Runs on the controller. Returns and prints no values.
options:
  state:
    description:
      - V(present) makes what is missing.
      - V(absent) removes the password of a removed store, if this collection wrote it, and nothing else.
    type: str
    choices: [present, absent]
    default: present
  given:
    description:
      - Values that somebody else made, by name, such as keys of a Ceph that is not the site's. None replaces another.
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
  description: Names that got a value now.
  type: list
  elements: str
  returned: success, when C(state) is V(present)
issued:
  description: Certificates written now, each with the reason.
  type: dict
  returned: success, when C(state) is V(present)
  sample: {edge: close to its end}
store:
  description: Identity of the store, public. Hosts keep it, to refuse a run with the secrets of another.
  type: str
  returned: success, when C(state) is V(present)
"""
