# Documentation of the action plugin of the same name, which does the work on the controller.
DOCUMENTATION = r"""
module: supply
short_description: Make or fetch the artifacts of supply.lock
version_added: 0.1.0
description:
  - Makes what the cache on the controller lacks, in build roots of its own. A damaged artifact, or one with another
    digest than the lock's, is an error.
  - Shows each running artifact with its elapsed and expected time, on a terminal in place.
  - M(groundup.cloud.supply_publish) puts artifacts onto a site's seed.
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
    description: Make the named artifacts again, whatever the cache holds.
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
