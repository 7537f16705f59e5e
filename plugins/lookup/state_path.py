"""Lookup of paths in the site's state directory."""

from __future__ import annotations

DOCUMENTATION = r"""
name: state_path
short_description: Path of a file in the site's state directory
version_added: 0.1.0
description:
  - Returns paths in the site's state directory. Nothing is read, and the path need not exist.
options:
  _terms:
    description: Paths below the state directory. An empty path stands for the directory itself.
    required: true
extends_documentation_fragment: groundup.cloud.site.lookup
"""

EXAMPLES = r"""
- name: The site's ssh key
  ansible.builtin.debug:
    msg: "{{ lookup('groundup.cloud.state_path', 'ssh/id_ed25519') }}"
"""

RETURN = r"""
_raw:
  description: Absolute paths.
  type: list
  elements: str
"""

from ..plugin_utils.lookups import SiteLookup
from ..plugin_utils.paths import state_dir


class LookupModule(SiteLookup):
    """Return paths. Reads nothing."""

    def look(self, terms: list[str]) -> list[str]:
        directory = state_dir(self.site)
        return [str(directory / term) if term else str(directory) for term in terms]
