"""Lookup of the directory of an unpacked root file system."""

from __future__ import annotations

DOCUMENTATION = r"""
name: rootfs
short_description: Directory of a root file system of supply.lock, on the control node
version_added: 0.1.0
description:
  - Returns the directory where an artifact of kind C(root) is unpacked. It is made when the cache lacks it, and never
    written to afterwards.
  - In a dry run (check mode, C(--tags check)), nothing is unpacked, and the result is an empty string.
options:
  _terms:
    description: Names of artifacts.
    required: true
author:
  - The groundup.cloud developers (@groundup-cloud)
"""

EXAMPLES = r"""
- name: What the lab's hosts are made from
  ansible.builtin.debug:
    msg: "{{ lookup('groundup.cloud.rootfs', 'rootfs-host') }}"
"""

RETURN = r"""
_raw:
  description: Absolute paths.
  type: list
  elements: str
"""

from ansible.utils.display import Display

from ..plugin_utils.lookups import SiteLookup
from ..plugin_utils.supply import unpacked


class LookupModule(SiteLookup):
    """Unpacks root file systems from the cache."""

    def look(self, terms: list[str]) -> list[str]:
        """Return the directories of the root file systems ``terms``."""
        return ["" if self.dry_run else str(unpacked(term, progress=Display().display)) for term in terms]
