"""Options that name a site."""

from __future__ import annotations


class ModuleDocFragment:
    """By name, by site file, or, in a lookup, from the inventory."""

    DOCUMENTATION = r"""
options:
  site:
    description: Name of the site.
    type: str
    required: true
"""

    FILE = r"""
requirements:
  - On the control node, the Python packages of the collection's C(requirements.txt).
options:
  site_file:
    description: Path of the site file.
    type: path
    required: true
"""

    LOOKUP = r"""
author:
  - The groundup.cloud developers (@groundup-cloud)
options:
  site:
    description: Name of the site. Default is that of the inventory.
    type: str
"""
