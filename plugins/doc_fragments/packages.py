"""Documentation fragment: packages of the OS, and where they come from."""

from __future__ import annotations


class ModuleDocFragment:
    """Options that every module which installs packages has, and takes from the plan."""

    DOCUMENTATION = r"""
options:
  packages:
    description: Packages of the OS to install. Installed ones are left as they are, whatever their version.
    type: list
    elements: str
    default: []
  packages_seed:
    description:
      - Repositories of the site's seed. The packages come from there, by a configuration of apt of their own; the
        host's own sources stay as they are. Without it and O(packages_url) they come from the host's own sources.
    type: dict
    suboptions:
      url:
        description: URL of the seed's file tree; on the seed itself C(file:) and the directory.
        type: str
        required: true
      places:
        description: Where the repository of each Debian release is below O(packages_seed.url).
        type: dict
        required: true
      key:
        description: Armored OpenPGP public key that signs the repositories.
        type: str
        default: ""
  packages_url:
    description: Package mirror, the only source then.
    type: str
  packages_suites:
    description: Suites of O(packages_url). Empty means the host's release.
    type: list
    elements: str
    default: []
  packages_components:
    description: Components of O(packages_url).
    type: list
    elements: str
    default: [main]
  packages_key:
    description: Armored OpenPGP public key that signs O(packages_url). Default is Debian's keys.
    type: str
  packages_ca:
    description:
      - Certificate of the CA, in PEM, that the server of O(packages_url) has its own from. apt trusts it for that
        server alone. Default is the host's trust store.
    type: str
"""
