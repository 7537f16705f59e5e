#!/usr/bin/python
"""Documentation of the action plugin of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: hypervisor_probe
short_description: Boot an instance on each new hypervisor, and enable the hypervisor if the instance answers
version_added: 0.2.0
description:
  - New are those of O(hosts) whose compute service Nova created disabled, and those whose last probe failed. Does
    nothing without new hosts.
  - Creates a project with all an instance needs, as M(groundup.cloud.tenant_smoke) does, and an instance with a
    floating IP on each new host. Enables a host whose instance answers ssh. Any other host stays disabled with the
    fault as its reason, and is in RV(aside).
  - Deletes all of it, also after a failure, SIGTERM or Ctrl-C, and leftovers of a killed run of this controller.
  - A dry run boots nothing and lists the hosts to probe.
  - Never enables a host that was disabled for another reason; reports it in RV(kept) and in a warning.
options:
  hosts:
    description: Names of hypervisors that have joined.
    type: list
    elements: str
    required: true
  verb:
    description: V(verify) changes nothing, and fails if a host still needs its probe.
    type: str
    choices: [apply, verify]
    default: apply
  parallel:
    description: Hosts to probe at once, at most the project's quota of instances.
    type: int
    default: 8
extends_documentation_fragment:
  - groundup.cloud.attributes
  - groundup.cloud.instance
  - groundup.cloud.site.file
"""

EXAMPLES = r"""
- name: New hypervisors are proven
  groundup.cloud.hypervisor_probe:
    site_file: inventories/lab/site.yml
    hosts: "{{ groups.compute }}"
"""

RETURN = r"""
enabled:
  description: Hosts that were enabled.
  type: list
  elements: str
  returned: success
kept:
  description: Hosts that were disabled for another reason, with that reason.
  type: dict
  returned: success
aside:
  description: Hosts whose probe failed, each with host, layer, reason and remedy.
  type: list
  elements: dict
  returned: success
changes:
  description: Changes, or hosts to probe in check mode, one line each.
  type: list
  elements: str
  returned: when somebody is new
steps:
  description: Each step with name, seconds, detail and whether it succeeded.
  type: list
  elements: dict
  returned: when it was no dry run
"""
