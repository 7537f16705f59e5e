#!/usr/bin/python
"""Documentation of the action plugin of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: kubernetes_lease
short_description: Refuse a concurrent run of the Kubernetes layer on the same cluster
version_added: 0.1.0
description:
  - Takes the Lease C(groundup-kubernetes) of the site's cluster for this run, before its first change. Fails if another
    run holds it, and names that run.
  - Only warns when the cluster does not answer, because this run may be about to repair it. Does nothing without a
    cluster.
attributes:
  check_mode:
    description: Does nothing.
  diff_mode:
    description: The Lease is not shown.
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
