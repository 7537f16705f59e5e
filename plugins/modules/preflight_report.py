# Documentation of the action plugin of the same name, which does the work on the controller.
DOCUMENTATION = r"""
module: preflight_report
short_description: Judge the preflight faults of all hosts
version_added: 0.1.0
description:
  - Prints the results of M(groundup.cloud.host_preflight) as one table, with one line per fault and the hosts that have
    it.
  - Compares hosts with each other to find one machine under several names, or one machine-id or name on several
    machines.
  - Fails when a line is an error, unless all hosts with errors serve already and are in groups with C(max_unavailable)
    above 0 - these are returned, to be set aside. In a dry run an unreachable host is a warning.
options:
  hosts:
    description: Hosts to judge.
    type: list
    elements: str
    required: true
  result:
    description: Name of the variable their result was registered under.
    type: str
    required: true
extends_documentation_fragment: groundup.cloud.attributes.info
"""

EXAMPLES = r"""
- name: Examine the host
  groundup.cloud.host_preflight:
    name: "{{ groundup_host.name }}"
    site: "{{ groundup_site.site }}"
  register: preflight_host

- name: Judge all hosts
  groundup.cloud.preflight_report:
    hosts: "{{ ansible_play_hosts_all }}"
    result: preflight_host
  run_once: true
"""

RETURN = r"""
lines:
  description: The lines of the table, errors first.
  type: list
  elements: dict
  returned: always
  sample:
    - check: swap
      severity: error
      what: swap is on
      remedy: "turn it off: swapoff -a, and take it out of /etc/fstab"
      hosts: {worker-1: /dev/sda2, worker-2: /dev/vda3}
aside:
  description: Hosts that are set aside, each with host, layer, reason and remedy.
  type: list
  elements: dict
  returned: always
  sample: []
"""
