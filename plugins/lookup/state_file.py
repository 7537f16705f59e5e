"""Lookup of the content of public files in a site's state directory."""

from __future__ import annotations

DOCUMENTATION = r"""
name: state_file
short_description: Content of a public file in the site's state directory
version_added: 0.1.0
description:
  - Returns the content of a certificate or a public key that the control node keeps for the site, without its
    last newline.
  - In a dry run (check mode, C(--tags check)), a missing file gives an empty string.
options:
  _terms:
    description: Paths below the state directory. Each ends in C(.crt) or C(.pub).
    required: true
extends_documentation_fragment: groundup.cloud.site.lookup
"""

EXAMPLES = r"""
- name: The site's CA
  ansible.builtin.debug:
    msg: "{{ lookup('groundup.cloud.state_file', 'ca.crt') }}"
"""

RETURN = r"""
_raw:
  description: The contents.
  type: list
  elements: str
"""

from pathlib import Path

from ..plugin_utils.errors import GroundupError
from ..plugin_utils.lookups import SiteLookup
from ..plugin_utils.paths import state_dir

PUBLIC = (".crt", ".pub")


class LookupModule(SiteLookup):
    """Read public files only."""

    def look(self, terms: list[str]) -> list[str]:
        return [self._content(state_dir(self.site), term) for term in terms]

    def _content(self, directory: Path, term: str) -> str:
        path = (directory / term).resolve()
        if not path.is_relative_to(directory.resolve()) or path.suffix not in PUBLIC:
            raise GroundupError(
                f"{term} is not a public file of the site",
                where=str(directory),
                why="what a lookup returns may be printed",
                remedy=f"name a file that ends in {' or '.join(PUBLIC)}",
            )
        try:
            return path.read_text(encoding="utf-8").rstrip("\n")
        except FileNotFoundError:
            if self.dry_run:
                return ""
            raise GroundupError(
                f"{path} is missing",
                where="the site's state directory",
                why="a public file is made before hosts need it",
                remedy="run the playbook groundup.cloud.secrets, which writes it",
            ) from None
