#!/usr/bin/python
"""Documentation of the action of the same name, which runs on the control node."""

from __future__ import annotations

DOCUMENTATION = r"""
module: supply
short_description: Build or fetch the artifacts of supply.lock, and match them with advisories
version_added: 0.1.0
description:
  - M(groundup.cloud.seed) puts artifacts onto the seed of a site.
options:
  step:
    description:
      - V(build) builds or fetches artifacts that the control node's cache lacks, in separate build roots. It names a
        damaged artifact and builds it again. A digest that differs from the lock is an error. It shows each artifact
        in work with its elapsed and expected time, on a terminal in place.
      - V(advisories) holds the bills of material of built artifacts, and the packages of hosts, against advisories
        that are given as files. It downloads and changes nothing. It prints what is affected and which version fixes
        it, and fails when something is affected, or not known. Versions of Debian's packages are compared by dpkg,
        those of Python packages by the library C(packaging).
      - V(resolve) asks registries and servers for the digests of what the site fetches and the lock has none of, shows
        them, and records them in the site's state. It never changes a recorded one. In check mode it asks and shows.
      - V(charts) packages the charts of OpenStack-Helm that the lock names into O(directory), cloned from its public
        repository, or taken from O(checkout). Other content than the lock's is refused.
    type: str
    choices: [build, charts, resolve, advisories]
    required: true
  names:
    description: Artifacts or groups of the lock. The default is all of them.
    type: list
    elements: str
  source:
    description:
      - Build artifacts from packages, or fetch what their projects publish. With V(build) and V(resolve).
    type: str
    choices: [build, upstream]
    default: build
  rebuild:
    description: With V(build), rebuild the named artifacts, even if the cache has them.
    type: bool
    default: false
  directory:
    description: For V(charts), the directory of the archives, which C(openstack.charts) of a site file can name.
    type: path
  checkout:
    description:
      - For V(charts), a checkout or an unpacked archive of OpenStack-Helm, which is only read. Default is a clone.
    type: path
  force:
    description:
      - For V(resolve), accepted risks. V(other-digest) asks for recorded digests again and takes those that are
        published now, whatever the tag meant before.
    type: list
    elements: str
    choices: [other-digest]
    default: []
  files:
    description:
      - For V(advisories), Debian's security tracker as JSON, or OSV records - a file of one, of a list, or a directory
        of such files.
    type: list
    elements: path
  hosts:
    description: For V(advisories), hosts, and what is installed there.
    type: list
    elements: dict
    default: []
    suboptions:
      name:
        description: Name of the host.
        type: str
        required: true
      release:
        description: Code name of its Debian.
        type: str
        required: true
      packages:
        description: Output of dpkg-query there, in the format that the playbook C(groundup.cloud.advisories) asks for.
        type: str
        required: true
  silent:
    description: For V(advisories), hosts that did not say what is installed there. They are not known to be safe.
    type: list
    elements: str
    default: []
attributes:
  diff_mode:
    description: V(resolve) shows the lines of the record. Of artifacts only digests can be compared.
    support: partial
extends_documentation_fragment: groundup.cloud.attributes
"""

EXAMPLES = r"""
- name: Everything the lock names
  groundup.cloud.supply:
    step: build

- name: Images of the cluster, made again whatever the cache holds
  groundup.cloud.supply:
    step: build
    names: [images-kubernetes]
    rebuild: true

- name: Digests that the lock does not have
  groundup.cloud.supply:
    step: resolve
    source: upstream

- name: OpenStack-Helm's charts
  groundup.cloud.supply:
    step: charts
    directory: /srv/openstack-charts

- name: Artifacts against Debian's security tracker
  groundup.cloud.supply:
    step: advisories
    files: [tracker.json]
"""

RETURN = r"""
built:
  description: Artifacts that were built or fetched; in check mode those that would be.
  type: list
  elements: str
  returned: with O(step=build)
predicted:
  description: What would be made - way (build or fetch), seconds, size of the last one, addresses without a digest.
  type: list
  elements: dict
  returned: in check mode, with O(step=build), when something would be
artifacts:
  description: Version, kind, sha256 and path of each artifact, by name.
  type: dict
  returned: success, with O(step=build)
charts:
  description: Archives in O(directory).
  type: list
  elements: str
  returned: with O(step=charts)
resolved:
  description: Artifact, address, digest (none - not known), recorded digest and fault of each address.
  type: list
  elements: dict
  returned: with O(step=resolve)
affected:
  description: Advisory, package, version, version that fixes it (empty - none yet), and artifacts and hosts.
  type: list
  elements: dict
  returned: with O(step=advisories)
  sample:
    - advisory: CVE-2026-0001
      package: openssl
      version: 3.5.1-1
      fixed: 3.5.1-1+deb13u1
      where: [image-base, host control-1]
unknown:
  description: What could not be held against the advisories, with the reason.
  type: list
  elements: dict
  returned: with O(step=advisories)
"""
