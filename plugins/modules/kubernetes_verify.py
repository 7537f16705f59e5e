#!/usr/bin/python
"""Documentation of the action plugin of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: kubernetes_verify
short_description: Verify that a cluster serves
version_added: 0.1.0
description:
  - Runs on the controller, with the admin kubeconfig of the site. The API must be ready at the virtual IP, every node
    Ready, the storage class present, and a pod must reach a Service by name on another node (with a single node, on
    that node).
  - The probe is a Service that points at a CoreDNS pod, and a pod on another node that calls it. Both are removed.
  - Warns of certificates that expire within O(certificate_days), each with what renews it, and fails when one expires
    within 7 days. Checks the certificates of the API server and the edge, the site's CA, and O(certificates).
options:
  server:
    description: URL at which the API must answer.
    type: str
    required: true
  nodes:
    description: Names of nodes that must be Ready.
    type: list
    elements: str
    required: true
  spare:
    description: Those of O(nodes) that are only reported when they are not Ready.
    type: list
    elements: str
    default: []
  known:
    description: Names of all nodes of the site, if O(nodes) are only some of them.
    type: list
    elements: str
    default: []
  dns_domain:
    description: Domain of the cluster's Services.
    type: str
    default: cluster.local
  image:
    description: An image with bash that the nodes have.
    type: str
    required: true
  storage_class:
    description: Storage class that must exist. Omit it where a later layer makes it.
    type: str
  kube_router:
    description: Whether kube-router must enforce NetworkPolicies on every node, because the pod network does not.
    type: bool
    default: false
  timeout:
    description: Timeout of each check in seconds. After an outage of the API the cluster's DNS needs most of it.
    type: int
    default: 120
  certificates:
    description: Days left of the certificates on the control hosts, by host and file.
    type: dict
    default: {}
  certificate_days:
    description: Warn when fewer days than this are left.
    type: int
    default: 30
  edge:
    description: Address that serves the public names on port 443. Omit it for a site without an edge.
    type: str
attributes:
  check_mode:
    description: Verifies nothing, because the probe creates a pod.
    support: none
  diff_mode:
    description: Nothing is changed.
    support: none
extends_documentation_fragment:
  - groundup.cloud.attributes
  - groundup.cloud.site
"""

EXAMPLES = r"""
- name: The cluster serves
  groundup.cloud.kubernetes_verify:
    site: lab
    server: https://10.90.0.2:6443
    nodes: "{{ groups.kubernetes }}"
    image: "{{ groundup_site.supply.images['kube-proxy'] }}"
    storage_class: general
"""

RETURN = r"""
report:
  description: Number of nodes, path of the probe, days left of the API server's certificate, and warnings.
  type: dict
  returned: success
aside:
  description: Nodes of O(spare) that are not Ready, each with host, layer, reason and remedy.
  type: list
  elements: dict
  returned: success
leftover:
  description: Nodes of the cluster that are not hosts of the site.
  type: list
  elements: dict
  returned: success
"""
