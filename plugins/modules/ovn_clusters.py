#!/usr/bin/python
"""Documentation of the action plugin of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: ovn_clusters
short_description: Decide whether OVN's databases of a site have clusters
version_added: 0.1.0
description:
  - Compares what control hosts said (M(groundup.cloud.ovn_central)) with what the controller knows.
  - Fails when control hosts have different clusters, and, where none is known, when a control host did not answer or
    began to join one.
options:
  answers:
    description: What each control host of this run said, by its name.
    type: dict
    required: true
  hosts:
    description: Names of all control hosts of the site.
    type: list
    elements: str
    required: true
extends_documentation_fragment:
  - groundup.cloud.attributes.info
  - groundup.cloud.site
"""

EXAMPLES = r"""
- name: Have OVN's databases clusters?
  groundup.cloud.ovn_clusters:
    site: "{{ groundup_site.site }}"
    answers: "{{ dict(ansible_play_hosts | zip(ansible_play_hosts | map('extract', hostvars, 'ovn_central_host'))) }}"
    hosts: "{{ groups.network }}"
"""

RETURN = r"""
create:
  description: Databases that have no cluster, and may be given one.
  type: list
  elements: str
  returned: success
"""
