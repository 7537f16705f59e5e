#!/usr/bin/python
# Copyright: (c) 2026, The groundup.cloud developers
# Apache License 2.0 (see LICENSE)
"""Documentation of the action of the same name, which runs on the controller."""

from __future__ import annotations

DOCUMENTATION = r"""
module: supply_publish
short_description: Publish a site's artifacts to its registry and file tree
version_added: 0.1.0
description:
  - Compares the host's registry and file tree with the lock, and sends what is missing. Pushes an image only when the
    registry has another digest under its tag; sends files as an archive over Ansible's own connection.
  - The site's registry address is read-only. Images are pushed to the host's loopback, through an ssh tunnel with the
    options of Ansible's connection.
  - Sends nothing when everything is there.
  - Then verifies pushed images by digest, and has the host compare the digest of every file it serves.
  - Writes the record of digests into the site's state directory. Nodes run images by these digests.
options:
  site:
    description: Name of the site, whose state directory stores the digests.
    type: str
    required: true
  source:
    description: Build artifacts from packages, or fetch what their projects publish.
    type: str
    choices: [build, upstream]
    default: build
  registry:
    description: Name and port of the host's registry, as the site reads it.
    type: str
    required: true
  registry_inside:
    description: Address and port of the registry on the host's loopback, for pushes.
    type: str
    required: true
  files_url:
    description: Root of the host's file tree, as the site reads it.
    type: str
    required: true
  ca_certificate:
    description: CA, in PEM, of the certificates of registry and file tree, which are valid for C(127.0.0.1) too.
    type: str
    required: true
  files_root:
    description: Directory of the host behind O(files_url).
    type: path
    required: true
  images:
    description: Image artifacts of the lock.
    type: list
    elements: str
    required: true
  files:
    description: File artifacts of the lock. Default is all of them.
    type: list
    elements: str
  packages:
    description: Package repositories of the lock, in addition to O(files).
    type: list
    elements: str
    default: []
  verify:
    description:
      - Send nothing; fail when the host does not serve every image and file with the right digest.
    type: bool
    default: false
attributes:
  diff_mode:
    support: none
    description: Artifacts are compared by digest.
extends_documentation_fragment: groundup.cloud.attributes
"""

EXAMPLES = r"""
- name: Everything the site runs
  groundup.cloud.supply_publish:
    site: "{{ groundup_site.site }}"
    registry: "{{ groundup_site.supply.registry }}"
    registry_inside: "{{ groundup_site.supply.registry_inside }}"
    files_url: "{{ groundup_site.supply.files_url }}"
    files_root: /srv/groundup
    ca_certificate: "{{ lookup('groundup.cloud.state_file', 'ca.crt') }}"
    images: "{{ groundup_site.supply.images.keys() | list }}"
"""

RETURN = r"""
images:
  description: References of the images that were, or would be, pushed.
  returned: always
  type: list
  elements: str
files:
  description: Names and versions of the file artifacts that were, or would be, sent.
  returned: always
  type: list
  elements: str
published:
  description:
    - Digests of everything that is, or would be, served, by C(images) (name below the registry) and C(files) (path).
    - In check mode, artifacts that are not built yet are missing.
  returned: success
  type: dict
"""
