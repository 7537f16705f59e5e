# Documentation of the action plugin of the same name, which does the work on the controller.
DOCUMENTATION = r"""
module: supply
short_description: Build or fetch the artifacts of supply.lock
version_added: 0.1.0
description:
  - Builds or fetches artifacts that the controller's cache lacks, in separate build roots. Names a damaged artifact and
    builds it again. A digest that differs from the lock is an error.
  - Shows each artifact in work with its elapsed and expected time, on a terminal in place.
  - P(groundup.cloud.seed#module) puts artifacts onto a site's seed.
options:
  names:
    description: Artifacts or groups of the lock. The default is all of them.
    type: list
    elements: str
  source:
    description: Build artifacts from packages, or fetch what their projects publish.
    type: str
    choices: [build, upstream]
    default: build
  rebuild:
    description: Rebuild the named artifacts, even if the cache has them.
    type: bool
    default: false
attributes:
  diff_mode:
    description: Only digests can be compared; they are returned.
    support: none
extends_documentation_fragment: groundup.cloud.attributes
"""

EXAMPLES = r"""
- name: Everything the lock names
  groundup.cloud.supply:

- name: Images of the cluster, made again whatever the cache holds
  groundup.cloud.supply:
    names: [images-kubernetes]
    rebuild: true
"""

RETURN = r"""
built:
  description: Artifacts that were built or fetched; in check mode those that would be.
  type: list
  elements: str
  returned: always
artifacts:
  description: Version, kind, sha256 and path of each artifact, by name.
  type: dict
  returned: success
"""
