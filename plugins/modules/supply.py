# Documentation of the action plugin of the same name, which does the work on the controller.
DOCUMENTATION = r"""
module: supply
short_description: Make or fetch the artifacts of supply.lock
version_added: 0.1.0
description:
  - Makes what the cache on the controller lacks, in build roots of its own, and shows what it is doing.
  - An artifact that is in the cache is not made again. One that is damaged, or does not have the digest of the lock,
    is an error.
  - What is made is put onto a site's seed by M(groundup.cloud.supply_publish).
options:
  names:
    description: Artifacts or groups of the lock. The default is all of them.
    type: list
    elements: str
  source:
    description: Whether artifacts are built from packages, or fetched as their projects publish them.
    type: str
    choices: [build, upstream]
    default: build
  rebuild:
    description: Whether the named artifacts are made again, whatever the cache holds.
    type: bool
    default: false
attributes:
  diff_mode:
    description: There is nothing to compare but digests, which are returned.
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
  description: Artifacts that were made now; in check mode those that would be.
  type: list
  elements: str
  returned: always
artifacts:
  description: Version, kind, sha256 and path of each artifact, by name.
  type: dict
  returned: success
"""
