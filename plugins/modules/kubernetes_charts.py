#!/usr/bin/python
"""Documentation of the action plugin of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: kubernetes_charts
short_description: Install charts that the cluster itself needs
version_added: 0.1.0
description:
  - Installs or upgrades Helm releases from the controller, one after another, with the admin kubeconfig of the site.
    Leaves unchanged releases alone.
  - Repairs releases of a killed run first. Does not wait for pods, unless it is to verify.
  - For the pod network and the driver of volumes. Applications are releases of the rollout engine, see
    M(groundup.cloud.rollout).
options:
  version:
    description: Version of Kubernetes, for charts rendered before there is a cluster.
    type: str
    required: true
  charts:
    description: Artifact of C(supply.lock) with the charts, each as C(<chart>-<version>.tgz).
    type: str
    required: true
  source:
    description: Build the artifact, or fetch it as published.
    type: str
    choices: [build, upstream]
    default: build
  releases:
    description:
      - Releases of the plan, in this order.
      - A value that is a mapping of C($secret) alone names a secret of the site's store. No output shows it.
    type: list
    elements: dict
    required: true
  images:
    description:
      - Replacements for values that name an image, such as the same name with a digest. Also for an image in two
        values, C(repository) and C(tag).
    type: dict
    default: {}
  verify:
    description: Change nothing. Wait until all pods of the releases are ready, and fail with what they wait for.
    type: bool
    default: false
  timeout:
    description: Seconds to wait for pods.
    type: int
    default: 300
attributes:
  check_mode:
    description:
      - Asks the API server for a dry run. Without a cluster, everything is new. Verifies nothing.
      - Builds nothing. Without the charts or Helm in the cache it reports a change with unknown differences.
  diff_mode:
    description: Shows each object and field that differs.
extends_documentation_fragment:
  - groundup.cloud.attributes
  - groundup.cloud.site
"""

EXAMPLES = r"""
- name: Cilium
  groundup.cloud.kubernetes_charts:
    site: "{{ groundup_site.site }}"
    version: "{{ groundup_site.kubernetes.version }}"
    charts: "{{ groundup_site.kubernetes.cni.charts }}"
    releases: "{{ groundup_site.kubernetes.cni.releases }}"
"""

RETURN = r"""
releases:
  description: Names of the releases that changed.
  type: list
  elements: str
  returned: success
"""
