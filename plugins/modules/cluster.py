#!/usr/bin/python
"""Documentation of the action plugin of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: cluster
short_description: Apply what the site's Kubernetes cluster itself needs, and verify that it serves
version_added: 0.2.0
description:
  - "Private: for the playbooks and roles of the same collection."
  - Runs on the control node, with the admin kubeconfig of the site. Does not need the hosts.
  - For what the cluster itself needs. Applications are releases of the rollout engine, see M(groundup.cloud.rollout).
options:
  step:
    description:
      - V(acquire) takes the Lease C(groundup-kubernetes) for this run, before its first change. Fails if another run
        holds it, and names that run. Only warns when the cluster does not answer, because this run may be about to
        repair it. Does nothing without a cluster. V(label) releases the Lease.
      - V(apply) applies O(objects) server-side, as field manager C(groundup), namespaces and permissions first.
      - V(install) installs or upgrades the Helm releases O(releases), one after another, and leaves unchanged ones
        alone. Repairs releases of a killed run first. Does not wait for pods. For the pod network and the driver of
        volumes.
      - V(wait) waits until all pods of O(releases) are ready, and fails with what they wait for. Changes nothing.
      - V(label) labels and taints the nodes of O(hosts) as the plan says, in one call, and waits until they are Ready.
        Removes its own labels and taints that the plan no longer has, and keeps all others. A worker that is not Ready
        in time is a warning and in C(aside); a control host is a failure.
      - V(verify) requires that the API is ready at the virtual IP, every node Ready, the storage class present, and
        that a pod reaches a Service by name on another node (with a single node, on that node). The probe is a Service
        that points at a CoreDNS pod, and a pod that calls it; both are removed. Warns of certificates of the API
        server, the edge, the site's CA and O(certificates) that expire within O(certificate_days), each with what
        renews it, and fails when one expires within 7 days.
      - With V(label) and V(verify), a Node of the cluster that is not a host of the site is a warning and in
        C(leftover).
    type: str
    choices: [acquire, apply, install, wait, label, verify]
    required: true
  objects:
    description: Complete objects. With O(step=apply).
    type: list
    elements: dict
  version:
    description: Version of Kubernetes, for charts rendered before there is a cluster.
    type: str
  charts:
    description: Artifact of C(supply.lock) with the charts, each as C(<chart>-<version>.tgz).
    type: str
  source:
    description: Build the artifact, or fetch it as published.
    type: str
    choices: [build, upstream]
    default: build
  releases:
    description:
      - Releases of the plan, in this order. With O(step=install) and O(step=wait).
      - A value that is a mapping of C($secret) alone names a secret of the site's store. No output shows it.
    type: list
    elements: dict
  images:
    description:
      - Replacements for values that name an image, such as the same name with a digest. Also for an image in two
        values, C(repository) and C(tag).
    type: dict
    default: {}
  starts:
    description: In check mode, whether the run would start the cluster first. Then nothing is asked.
    type: bool
    default: false
  timeout:
    description: Seconds to wait for pods. With O(step=wait).
    type: int
    default: 300
  hosts:
    description: Nodes of the plan, each a C(groundup_host). With O(step=label).
    type: list
    elements: dict
  known:
    description: Names of all nodes of the site, if O(hosts) or O(nodes) are only some of them.
    type: list
    elements: str
    default: []
  server:
    description: URL at which the API must answer.
    type: str
  nodes:
    description: Names of nodes that must be Ready. With O(step=verify).
    type: list
    elements: str
  spare:
    description: Those of O(nodes) that are only reported, in C(aside), when they are not Ready.
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
  storage_class:
    description: Storage class that must exist. Omit it where a later layer makes it.
    type: str
  kube_router:
    description: Whether kube-router must enforce NetworkPolicies on every node, because the pod network does not.
    type: bool
    default: false
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
    description:
      - Asks the API server for a dry run. Without a cluster, everything is new. With O(starts) a change is reported
        with unknown differences.
      - V(install) builds nothing. Without the charts or Helm in the cache it reports a change with unknown differences.
      - V(acquire), V(wait) and V(verify) do nothing.
  diff_mode:
    description: Shows objects without the fields the cluster sets, fields of releases that differ, patches of nodes.
extends_documentation_fragment:
  - groundup.cloud.attributes
  - groundup.cloud.site
"""
