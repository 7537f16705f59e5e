#!/usr/bin/python
"""Documentation of the action plugin of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: kubernetes_lease
short_description: Refuse a second run of the Kubernetes layer on one cluster
version_added: 0.1.0
description:
  - Takes the lease C(groundup-kubernetes) of the site's cluster for this run, before its first change. Fails with the
    name of the run that holds it.
  - Warns when the cluster does not answer, which the run may be about to mend. Does nothing without a cluster.
attributes:
  check_mode:
    description: Does nothing.
  diff_mode:
    description: A lease is no part of what a run changes.
    support: none
extends_documentation_fragment:
  - groundup.cloud.attributes
  - groundup.cloud.site
"""

EXAMPLES = r"""
- name: Keep other runs away
  groundup.cloud.kubernetes_lease:
    site: "{{ groundup_site.site }}"
"""
