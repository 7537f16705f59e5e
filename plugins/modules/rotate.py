# Documentation of the action plugin of the same name, which does the work on the control node.
DOCUMENTATION = r"""
module: rotate
short_description: Rotate one kind of credential without a gap
version_added: 0.2.0
description:
  - "Private: for the playbook C(groundup.cloud.rotate)."
  - Three phases. V(both) makes the new valid beside the old, V(use) has everything use the new, V(drop) has the old
    refused.
  - The position is read from reality. A rotation that was killed goes on where it was.
  - Runs on the control node. Its output contains no secrets.
options:
  step:
    description:
      - V(check) says what would change. V(both), V(use) and V(drop) are the phases; each does only what is not done. In
        check mode they change nothing.
      - V(verify) fails while a rotation is open.
    type: str
    choices: [check, both, use, drop, verify]
    required: true
  what:
    description: Kind of credential.
    type: str
    required: true
  only:
    description: Services, or others that the kind has several of. Default is all.
    type: list
    elements: str
    default: []
  force:
    description: Reasons against the rotation to accept, by code.
    type: list
    elements: str
    default: []
  timeout:
    description: Seconds until nobody uses the old any longer.
    type: float
    default: 600
  seen:
    description: What hosts said, by name, for kinds that are on hosts.
    type: dict
    default: {}
attributes:
  check_mode:
    description: Changes nothing.
  diff_mode:
    description: Shows what each phase changes, by name.
extends_documentation_fragment:
  - groundup.cloud.attributes
  - groundup.cloud.site.file
"""

EXAMPLES = r"""
- name: Say what a rotation of the database passwords would change
  groundup.cloud.rotate:
    site_file: "{{ groundup_site_file }}"
    step: check
    what: database
"""

RETURN = r"""
foreseen:
  description: What the rotation has to do, one line each.
  type: list
  elements: str
  returned: always
open:
  description: Whether a rotation that was begun is gone on with.
  type: bool
  returned: always
rolls:
  description: Releases whose pods restart, one by one.
  type: list
  elements: str
  returned: always
phases:
  description: Phases of this run.
  type: list
  elements: str
  returned: always
layers:
  description: Phases after which the layers bring the new to the hosts.
  type: list
  elements: str
  returned: always
orders:
  description: Names of the keys of Secrets at rest that each control host is to use.
  type: dict
  returned: with O(what=encryption-key)
next:
  description: What an operator does then.
  type: str
  returned: always
"""
