"""Options of modules that run on a host of the site."""

from __future__ import annotations


class ModuleDocFragment:
    """The host's name, and options that modules of one subject take from the plan or the action."""

    DOCUMENTATION = r"""
options:
  name:
    description: Name of the host.
    type: str
    required: true
"""

    CEPH = r"""
options:
  ceph:
    description: The plan of the cluster, C(groundup_site.ceph).
    type: dict
    required: true
  keys:
    description: Keys by name of secret.
    type: dict
    required: true
"""

    OVN = r"""
options:
  clusters:
    description: Ids of the site's clusters by database. The action fills it in.
    type: dict
    default: {}
"""

    OTHERS = r"""
options:
  addresses:
    description: Addresses of the other machines of the site file. One of them is not its own any more.
    type: list
    elements: str
    default: []
"""

    CERTIFICATE = r"""
options:
  certificate:
    description: Certificate of the host, in PEM.
    type: str
    required: true
  private_key:
    description: Private key of O(certificate), in PEM.
    type: str
    required: true
  ca_certificate:
    description: Certificate of the CA that O(certificate) is from, in PEM.
    type: str
    required: true
"""

    INSTALLS = r"""
options:
  packages:
    description: Packages of the OS to install.
    type: list
    elements: str
    required: true
"""
