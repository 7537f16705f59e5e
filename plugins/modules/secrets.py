# Documentation of the action plugin of the same name, which does the work on the controller.
DOCUMENTATION = r"""
module: secrets
short_description: Create missing secrets and certificates of a site, or remove its state
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
      - V(absent) removes the state directory of a site whose site file and state have lab hosts only, then the
        password of its store, if this collection wrote it. With another site's, or a machine in either, it fails. When
        O(force) accepts that, it moves the directory to C(<site>.removed-<time>) and keeps the password. It keeps both
        while the site file has machines.
    type: str
    choices: [present, absent]
    default: present
  given:
    description:
      - Values that are not generated, by name, such as keys of an external Ceph. They never replace existing ones.
    type: dict
    default: {}
  keep:
    description: With V(absent), only check, and remove nothing.
    type: bool
    default: false
  force:
    description:
      - Risks to accept with V(absent). V(machines), hosts that are no lab containers belong to the site.
        V(unknown-state), the state does not say whose it is.
    type: list
    elements: str
    default: []
    choices: [machines, unknown-state]
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
