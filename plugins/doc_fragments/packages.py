"""Documentation fragment: packages of the OS and their sources."""

from __future__ import annotations


class ModuleDocFragment:
    """Options of modules that install packages, from the plan."""

    DOCUMENTATION = r"""
options:
  packages:
    description: Packages of the OS to install. Installed packages stay at their version.
    type: list
    elements: str
    default: []
  packages_seed:
    description:
      - Package repositories on the site's seed, used with a separate apt configuration; the host's own sources stay
        unchanged. Without it and O(packages_url), packages come from the host's own sources.
    type: dict
    suboptions:
      url:
        description: URL of the seed's file tree; on the seed itself C(file:) and the directory.
        type: str
        required: true
      places:
        description: Path of each Debian release's repository below O(packages_seed.url).
        type: dict
        required: true
      key:
        description: Armored OpenPGP public key that signs the repositories.
        type: str
        default: ""
  packages_url:
    description: Package mirror. It is then the only source.
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
      - CA, in PEM, of the certificate of O(packages_url). apt trusts it for that server only. Default is the host's
        trust store.
    type: str
  packages_proxy:
    description:
      - Proxy to the host's own sources, as the plan has it - C(http), C(https) and C(no_proxy), of which apt knows
        single names and addresses. Default is what the host itself has.
    type: dict
  packages_proxy_login:
    description: User and password of O(packages_proxy), as C(user:password).
    type: str
    default: ""
"""
