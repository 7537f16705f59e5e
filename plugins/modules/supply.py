# Documentation of the action plugin of the same name, which does the work on the controller.
DOCUMENTATION = r"""
module: supply
short_description: Make or fetch the artifacts of supply.lock, and serve them
version_added: 0.1.0
description:
  - Makes what the cache on the controller lacks, in build roots of its own, and shows what it is doing.
  - An artifact that is in the cache is not made again. One that is damaged, or does not have the digest of the lock,
    is an error.
  - Puts images into an OCI registry and lays out files for a web server, when asked to.
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
  registry:
    description: Registry that the images among them are put into, as C(address:port). Only what it lacks is pushed.
    type: str
  registry_tls:
    description: Whether the registry speaks TLS, with a certificate the controller trusts.
    type: bool
    default: true
  files:
    description: Directory in which the files among them are laid out as C(artifact/version/file), with checksums.
    type: path
attributes:
  check_mode:
    description: Says what would be made and pushed, and does nothing.
    support: full
  diff_mode:
    description: There is nothing to compare but digests, which are returned.
    support: none
author:
  - The groundup.cloud developers (@groundup-cloud)
"""

EXAMPLES = r"""
- name: Everything the lock names
  groundup.cloud.supply:

- name: Images of the cluster, into the registry of the seed
  groundup.cloud.supply:
    names: [images-kubernetes]
    registry: 10.90.0.2:5000
    registry_tls: false
"""

RETURN = r"""
built:
  description: Artifacts that were made now; in check mode those that would be.
  type: list
  elements: str
  returned: always
pushed:
  description: Image references that the registry did not have.
  type: list
  elements: str
  returned: success
written:
  description: Files that were laid out.
  type: list
  elements: str
  returned: success
artifacts:
  description: Version, kind, sha256 and path of each artifact, by name.
  type: dict
  returned: success
"""
