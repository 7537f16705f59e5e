"""Options of modules that take backups and restore them."""

from __future__ import annotations


class ModuleDocFragment:
    """Which backups stay, how old the newest may be, and which one is restored."""

    DOCUMENTATION = r"""
options:
  keep:
    description: How many backups stay. With V(0) all do.
    type: int
    default: 14
  days:
    description: How old the newest backup may be, in days.
    type: float
    default: 2.0
  source:
    description: Name of the backup to restore, V(newest), or the path of the JSON file of one elsewhere.
    type: str
    default: newest
  content:
    description: The backup. The action fills it in.
    type: str
    default: ""
"""
