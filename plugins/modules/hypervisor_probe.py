#!/usr/bin/python
"""Documentation of the action plugin of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: hypervisor_probe
short_description: Boot an instance on each new hypervisor, and open those to tenants where it answers
version_added: 0.2.0
description:
  - New are those of O(hosts) whose compute service Nova has made disabled, and those whose last probe failed. Where
    nobody is new nothing is made.
  - Makes a project with what an instance needs, as M(groundup.cloud.tenant_smoke) does, and an instance with a floating
    IP on each new host. A host whose instance answers ssh is enabled. Any other stays disabled with the fault as its
    reason, and is in RV(aside).
  - Deletes all of it, also after a failure, SIGTERM or Ctrl-C, and what a killed run of this controller left.
  - A dry run boots nothing and says who would be probed.
  - Never enables a host that was disabled by anybody else; names it in RV(kept) and in a warning.
options:
  hosts:
    description: Names of hypervisors that have joined.
    type: list
    elements: str
    required: true
  verb:
    description: V(verify) changes nothing, and fails where a host is still to be proven.
    type: str
    choices: [apply, verify]
    default: apply
  parallel:
    description: How many hosts to probe at once. The project's quota of instances is the limit.
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
  description: Hosts that were opened to tenants.
  type: list
  elements: str
  returned: success
kept:
  description: Hosts that somebody disabled, with the reason.
  type: dict
  returned: success
aside:
  description: Hosts whose probe failed, each with host, layer, reason and remedy.
  type: list
  elements: dict
  returned: success
changes:
  description: What was changed, or who would be probed, a line each.
  type: list
  elements: str
  returned: when somebody is new
steps:
  description: Each step with name, seconds, detail and whether it went well.
  type: list
  elements: dict
  returned: when it was no dry run
"""
