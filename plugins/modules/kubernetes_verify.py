#!/usr/bin/python
"""Documentation of the action plugin of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: kubernetes_verify
short_description: Verify that a cluster serves
version_added: 0.1.0
description:
  - Asks from the controller, with the admin kubeconfig of the site. The API must be ready at the virtual IP, every node
    Ready, the storage class present, and a pod must reach a Service by name on another node (with a single node, on
    that node).
  - The probe is a Service that points at a CoreDNS pod, and a pod on another node that calls it. Both are removed.
  - Warns of certificates that end within O(certificate_days), each with who renews it, and fails when one ends within
    7 days. Looked at are what the API server and the edge serve, the site's CA, and O(certificates).
options:
  server:
    description: URL the API must answer at.
    type: str
    required: true
  nodes:
    description: Names that must be nodes and Ready.
    type: list
    elements: str
    required: true
  spare:
    description: Those of O(nodes) that are only reported when they are not Ready.
    type: list
    elements: str
    default: []
  known:
    description: Names of all nodes of the site, where O(nodes) are only some of them.
    type: list
    elements: str
    default: []
  dns_domain:
    description: Domain of the cluster's Services.
    type: str
    default: cluster.local
  image:
    description: An image on the nodes, with bash.
    type: str
    required: true
  storage_class:
    description: Storage class that must exist.
    type: str
    required: true
  timeout:
    description: Timeout of each question in seconds. After an outage of the API the cluster's DNS needs most of it.
    type: int
    default: 120
  certificates:
    description: Days left of the certificates on the control hosts, by host and file.
    type: dict
    default: {}
  certificate_days:
    description: Fewer days left than this are a warning.
    type: int
    default: 30
  edge:
    description: Address at port 443 of which the public names are served. Without it there is none.
    type: str
attributes:
  check_mode:
    description: Verifies nothing, because the probe makes a pod.
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
  description: Number of nodes, the probe's way, days of the API server's certificate, warnings.
  type: dict
  returned: success
aside:
  description: Nodes of O(spare) that are not Ready, each with host, layer, reason and remedy.
  type: list
  elements: dict
  returned: success
leftover:
  description: Nodes of the cluster that are no hosts of the site.
  type: list
  elements: dict
  returned: success
"""
