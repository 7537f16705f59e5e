# Documentation of the action plugin of the same name.
DOCUMENTATION = r"""
module: machine_ready
short_description: Verify that a machine lets the controller in and has booted
version_added: 0.1.0
description:
  - Runs one task on the machine, and fails with the remedy when the machine is unreachable.
options:
  login:
    description: Account, address and port the controller logs in with, for the error.
    type: str
    required: true
  remedy:
    description: Remedy when the machine refuses the controller's login.
    type: str
    required: true
  boot_timeout:
    description:
      - Seconds to wait for the end of the machine's boot, which must have no failed unit. Without it only connection
        and Python are checked.
    type: int
  unreachable_group:
    description: Group for an unreachable machine, instead of failing.
    type: str
attributes:
  check_mode:
    description: Reads only. Does not wait for a boot.
extends_documentation_fragment: groundup.cloud.attributes.info
"""

EXAMPLES = r"""
- name: Verify the machine
  groundup.cloud.machine_ready:
    login: "{{ ansible_user }}@{{ ansible_host }}"
    remedy: run the playbook groundup.cloud.metal, which makes it
    boot_timeout: 120
"""

RETURN = r"""
msg:
  description: Why the machine is unreachable.
  type: str
  returned: when it is put into O(unreachable_group)
"""
