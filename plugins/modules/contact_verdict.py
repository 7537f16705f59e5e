# Documentation of the action plugin of the same name, which does the work on the controller.
DOCUMENTATION = r"""
module: contact_verdict
short_description: Stop a run whose existing hosts cannot be used
version_added: 0.1.0
description:
  - Fails with a fault for each host that C(groundup.cloud.host_preflight) could not reach, and with the ssh keys of
    hosts that nobody has confirmed. In a dry run it warns.
options:
  hosts:
    description: Hosts that were asked.
    type: list
    elements: str
    required: true
  result:
    description: Variable each host's result is registered in.
    type: str
    required: true
attributes:
  check_mode:
    description: Reads only.
extends_documentation_fragment:
  - groundup.cloud.attributes.info
"""

EXAMPLES = r"""
- name: Show hosts that cannot be used
  groundup.cloud.contact_verdict:
    hosts: "{{ ansible_play_hosts_all }}"
    result: contact_host
  run_once: true
"""

RETURN = r"""
"""
