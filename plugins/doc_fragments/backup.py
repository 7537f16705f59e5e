"""Options of modules that take backups and restore them."""

from __future__ import annotations


class ModuleDocFragment:
    """Retention, maximum age and source of backups."""

    DOCUMENTATION = r"""
options:
  keep:
    description: Number of backups to keep. V(0) keeps all.
    type: int
    default: 14
  days:
    description: Maximum age of the newest backup, in days.
    type: float
    default: 2.0
  source:
    description: Backup to restore, as its name, V(newest), or the path of its JSON file elsewhere.
    type: str
    default: newest
  content:
    description: Content of the backup. The action fills it in.
    type: str
    default: ""
"""
