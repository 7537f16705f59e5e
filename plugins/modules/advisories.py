# Documentation of the action plugin of the same name, which does the work on the controller.
DOCUMENTATION = r"""
module: advisories
short_description: Match packages of artifacts and hosts with advisories
version_added: 0.1.0
description:
  - Holds the bills of material of built artifacts, and the packages of hosts, against advisories that are given as
    files. Downloads nothing.
  - Prints what is affected and which version fixes it. Fails when something is affected, or not known.
  - Versions of Debian's packages are compared by dpkg, those of Python packages by the library C(packaging).
options:
  files:
    description:
      - Debian's security tracker as JSON, or OSV records - a file of one, of a list, or a directory of such files.
    type: list
    elements: path
    required: true
  names:
    description: Artifacts or groups of the lock. The default is all of them.
    type: list
    elements: str
  hosts:
    description: Hosts, and what is installed there.
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
        description: Output of dpkg-query there, in the format that the playbook of this name asks for.
        type: str
        required: true
  silent:
    description: Hosts that did not say what is installed there. They are not known to be safe.
    type: list
    elements: str
    default: []
attributes:
  check_mode:
    description: Changes nothing anyway.
    support: full
  diff_mode:
    description: Changes nothing.
    support: none
extends_documentation_fragment: groundup.cloud.attributes
"""

EXAMPLES = r"""
- name: Artifacts against Debian's security tracker
  groundup.cloud.advisories:
    files: [tracker.json]
"""

RETURN = r"""
affected:
  description: Advisory, package, version, version that fixes it (empty - none yet), and artifacts and hosts.
  type: list
  elements: dict
  returned: always
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
  returned: always
"""
