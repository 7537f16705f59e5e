"""Options of modules that run on a host of the site."""

from __future__ import annotations


class ModuleDocFragment:
    """Options that modules of one subject take from the plan or the action."""

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

    LEAVING = r"""
options:
  name:
    description: Name of the machine. It may have left the site file.
    type: str
    required: true
"""
