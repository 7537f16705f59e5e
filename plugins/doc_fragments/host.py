"""Options of modules that run on a host of the site."""

from __future__ import annotations


class ModuleDocFragment:
    """Options that modules of one subject take from the plan or the action."""

    LEAVING = r"""
options:
  name:
    description: Name of the machine. It may have left the site file.
    type: str
    required: true
"""
