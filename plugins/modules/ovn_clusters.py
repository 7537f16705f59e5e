#!/usr/bin/python
"""Documentation of the action plugin of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: ovn_clusters
short_description: Decide whether a site's OVN databases have clusters
version_added: 0.1.0
description:
  - Compares the answers of control hosts (M(groundup.cloud.ovn_central)) with the controller's record.
  - Fails when control hosts have different clusters. If no cluster is known, fails when a control host did not answer
    or began to join one.
options:
  answers:
    description: Result of M(groundup.cloud.ovn_central) of each control host of this run, by its name.
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
  description: Databases without a cluster, for which one may be created.
  type: list
  elements: str
  returned: success
"""
