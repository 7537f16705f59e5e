#!/usr/bin/python
"""Documentation of the action plugin of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: kubeadm_cluster
short_description: Decide whether a site has a Kubernetes cluster
version_added: 0.1.0
description:
  - Compares the answers of all control hosts (M(groundup.cloud.kubeadm_membership)) with the controller's record.
  - Fails when control hosts belong to different clusters, or to another cluster than the controller's record. If none
    belongs to a cluster, fails when one did not answer or has leftovers of Kubernetes.
options:
  hosts:
    description: The C(results) of a loop of M(groundup.cloud.kubeadm_membership) over all control hosts.
    type: list
    elements: dict
    required: true
  first:
    description: Name of the host that would initialise the cluster.
    type: str
    required: true
extends_documentation_fragment:
  - groundup.cloud.attributes.info
  - groundup.cloud.site
"""

EXAMPLES = r"""
- name: Is there a cluster?
  groundup.cloud.kubeadm_cluster:
    site: "{{ groundup_site.site }}"
    first: "{{ groundup_site.kubernetes.first_control }}"
    hosts: "{{ survey.results }}"
"""

RETURN = r"""
ca:
  description: SHA-256 of the CA certificate of the site's cluster. Null when there is none and one may be initialised.
  type: str
  returned: success
"""
