#!/usr/bin/python
"""Documentation of the action plugin of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: kubernetes_objects
short_description: Apply a few Kubernetes objects, server-side
version_added: 0.1.0
description:
  - Applies objects from the controller with the admin kubeconfig of the site, as field manager C(groundup), namespaces
    and permissions first. Reports no change for unchanged objects.
  - For objects the cluster itself needs. Applications are releases of the rollout engine.
options:
  objects:
    description: Complete objects.
    type: list
    elements: dict
    required: true
attributes:
  check_mode:
    description: Asks the API server for a dry run. Without a cluster, everything is new.
  diff_mode:
    description: Shows each object without the fields the cluster sets.
extends_documentation_fragment:
  - groundup.cloud.attributes
  - groundup.cloud.site
"""

EXAMPLES = r"""
- name: A namespace
  groundup.cloud.kubernetes_objects:
    site: "{{ groundup_site.site }}"
    objects:
      - apiVersion: v1
        kind: Namespace
        metadata:
          name: openstack
"""

RETURN = r"""
objects:
  description: Kind and name of each object that changed.
  type: list
  elements: str
  returned: success
"""
